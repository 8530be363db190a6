#!/bin/sh
exec curl -fsS "$1"

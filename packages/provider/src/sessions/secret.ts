import { hash, randomBytes } from 'node:crypto'

/** 256 bits that only its holder knows; the database keeps `hashSecret` of it. */
export const makeSecret = (): string => randomBytes(32).toString('base64url')

export const hashSecret = (secret: string): string => hash('sha256', secret)

import { type ServerResponse } from 'node:http'
import { denialText, type Denial } from './denial.ts'
import { type Asked } from './request-head.ts'

/** 403 with the reason and the rule that would change it. */
export const answerDenial = (res: ServerResponse, asked: Asked, denial: Denial): void =>
  answer(res, 403, denialText(asked.url, denial))

export function answer(res: ServerResponse, status: number, text: string): void {
  if (res.headersSent || res.destroyed) {
    res.destroy()
    return
  }
  res.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  })
  res.end(text)
}

const REASONS = {
  400: 'Bad Request',
  403: 'Forbidden',
  431: 'Request Header Fields Too Large',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const

/** Where there is no `ServerResponse`: before a parser, or after it let go of the socket. */
export function plainResponse(status: keyof typeof REASONS, text: string): string {
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

import { type Register } from '../command.ts'
export const register: Register = (parser, world) => {
  parser.action(() => world.out.write('x'))
}

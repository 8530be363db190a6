/**
 * What Node's own modules are made of (decision 0242): a few functions without the modules, which each start would have to
 * load. They may change with every version, so only those of the Node that this repository brings are used.
 */
export const HAS_BINDINGS = process.version === 'v24.21.0'

export const binding = (name: string): unknown =>
  (process as unknown as { binding: (name: string) => unknown }).binding(name)

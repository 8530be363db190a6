import { signal } from '@preact/signals'

/** The address, as what is shown follows it. */
export const address = signal(location.pathname)

export function goTo(path: string): void {
  if (path === location.pathname) return
  history.pushState(null, '', path)
  address.value = path
  scrollTo(0, 0)
  focusMain()
}

/** Where what had the focus goes, or is about to. */
const focusMain = (): void => document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })

/** For a page before the sign-in: what comes after it has the focus, not nothing. */
export const focusNext = () => (): void => void setTimeout(focusMain)

/** Links of ours change the address without loading the page again. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    address.value = location.pathname
  })
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!link || !plain || link.origin !== location.origin || link.hash !== '') return
    event.preventDefault()
    goTo(link.pathname)
  })
}

/* Where the kernel enters. What libc does before main (asking the processor what it can do, thread storage, locales,
 * streams) the launcher has no use for, and it is most of the time that a small static program runs. */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

int main (int argc, char **argv);

char **environ;

/* What -fstack-protector compares: random, from the kernel, with its first byte zero so that no string can hold it. */
uintptr_t __stack_chk_guard;

_Noreturn void
__stack_chk_fail (void)
{
  __builtin_trap ();
}

/* No array here: this function must not be one that the guard it sets protects. */
__attribute__ ((used)) static _Noreturn void
enter (long *stack)
{
  int argc = (int) stack[0];
  char **argv = (char **) (stack + 1), **after;

  environ = argv + argc + 1;
  for (after = environ; *after; after++)
    continue;
  for (const Elf64_auxv_t *aux = (const void *) (after + 1); aux->a_type != AT_NULL; aux++)
    if (aux->a_type == AT_RANDOM)
      memcpy (&__stack_chk_guard, (const void *) aux->a_un.a_val, sizeof __stack_chk_guard);
  __stack_chk_guard &= ~(uintptr_t) 0xff;
  _exit (main (argc, argv));
}

/* The kernel leaves argc where the stack begins, and nothing to return to. */
#if defined(__x86_64__)
__asm__ (".globl _start\n"
         "_start:\n"
         "  xor %ebp, %ebp\n"
         "  mov %rsp, %rdi\n"
         "  and $-16, %rsp\n"
         "  call enter\n");
#elif defined(__aarch64__)
__asm__ (".globl _start\n"
         "_start:\n"
         "  mov x29, xzr\n"
         "  mov x30, xzr\n"
         "  mov x0, sp\n"
         "  b enter\n");
#endif

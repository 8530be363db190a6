/* The kernel's own price: Landlock with one rule that grants everything below a directory, and one that lets programs be
 * read and executed; no namespaces, no seccomp. Usage: landlock-alone <directory> <program> [argument...] */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVERYTHING ((LANDLOCK_ACCESS_FS_MAKE_SYM << 3) - 1) /* up to TRUNCATE: ABI 3 */
#define READING (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define DEVICE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)

static int
allow (int ruleset, const char *path, uint64_t rights)
{
  struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = open (path, O_PATH | O_CLOEXEC) };
  return (int) syscall (SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int
main (int argc, char **argv)
{
  struct landlock_ruleset_attr attr = { .handled_access_fs = EVERYTHING };
  int ruleset = (int) syscall (SYS_landlock_create_ruleset, &attr, sizeof attr.handled_access_fs, 0);
  if (argc < 3 || ruleset < 0 || allow (ruleset, argv[1], EVERYTHING) || allow (ruleset, "/", READING)
      || allow (ruleset, "/dev/null", DEVICE) || prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
      || syscall (SYS_landlock_restrict_self, ruleset, 0))
    return 125;
  execv (argv[2], argv + 2);
  return 127;
}

#ifndef CORDON_NAMESPACES_H
#define CORDON_NAMESPACES_H

/* All namespaces of SPEC 4.3 at once. */
#define ALL_NAMESPACES                                                                                  \
  (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP)

/* fork(2) into new namespaces. Returns like fork; in the child the id maps are still to be written. */
int namespaces_fork (unsigned long flags);

/* Written by the parent: only it may map more than itself. 0 or an errno. */
int namespaces_map_ids (int child);

#endif

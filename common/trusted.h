/* SPDX-License-Identifier: Apache-2.0
 * Files and folders that are relied on, since plans hold code and traces hold a program's data: nobody but
 * their user may have had a hand in them.
 *
 * Rules. What is opened, and every folder and link on the way to it, belongs to the effective user, to root,
 * to one whose number is in KFUSE_TRUST, or to a user who may replace the running program anyway: the owner
 * of its file or of a folder above that one. None of them may be written by others, nor by a group, with two
 * exceptions: a group that is one user's alone, and, on the way only, a folder with the sticky bit, like
 * /tmp. A user's own group is known by /etc/passwd and /etc/group: his first one, of his name, without other
 * members; where these know neither, by the same number. In a container that does not know root's number,
 * folders on the way may belong to who is not known there. */
#ifndef KFUSE_COMMON_TRUSTED_H
#define KFUSE_COMMON_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens for reading (flags: O_DIRECTORY or 0). -1 with errno; EPERM: why then says what is not to be trusted,
 * with its path, and what to do; else why is empty. */
int trusted_open(const char *path, int flags, char *why, size_t why_size);
/* The same of a name in a folder that was opened so; folder_path is for why. */
int trusted_open_in(int folder, const char *folder_path, const char *name, char *why, size_t why_size);
bool trusted_owner(uid_t owner);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One file for a test program to write and read. */
#ifndef TESTS_COMMON_TEMPORARY_H
#define TESTS_COMMON_TEMPORARY_H

extern char temporary_path[];

/* For cmocka, before and after a group of tests. */
int temporary_make(void **state);
int temporary_remove(void **state);

#endif

#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT and SQLITE_STATIC are casts that Swift can't import. The lengths are 64-bit.
static inline int holdfast_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, (const char *)(bytes ? bytes : ""), count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
// The caller keeps the bytes alive and unchanged until the statement is reset.
static inline int holdfast_bind_text_static(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, (const char *)(bytes ? bytes : ""), count, SQLITE_STATIC, SQLITE_UTF8);
}
static inline int holdfast_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}
// sqlite3_config and sqlite3_db_config are variadic, which Swift can't call.
static inline int holdfast_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
static inline int holdfast_set_triggers(sqlite3 *database, int areOn) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, areOn, (int *)0);
}
// Closing then leaves the write-ahead log as it is.
static inline int holdfast_keep_log_at_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
// The index of the write-ahead log in the memory that all processes share, from its header on; null while the database was not read, and where it
// has no such log.
static inline const void *holdfast_log_index(sqlite3 *database) {
  sqlite3_file *file = 0;
  volatile void *region = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file) return 0;
  if (!file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return 0;
  if (file->pMethods->xShmMap(file, 0, 32768, 0, &region) != SQLITE_OK) return 0;
  return (const void *)region;
}
// Copies the 48 bytes of the header; 0 when a commit is just writing them, or has never written them.
static inline int holdfast_copy_log_header(const void *index, void *copy) {
  const volatile sqlite3_uint64 *words = (const volatile sqlite3_uint64 *)index;
  sqlite3_uint64 header[6];
  int isSame = 1;
  for (int i = 0; i < 6; i++) header[i] = words[i];
  // A commit writes the second copy first.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  for (int i = 0; i < 6; i++) isSame &= header[i] == words[6 + i];
  __builtin_memcpy(copy, header, 48);
  return isSame && ((const unsigned char *)header)[12];
}
#if defined(__linux__)
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
// The numbers by which `stat` tells files apart, without the times that it also gives: asking for those makes the next write change them, and a third
// longer to sync (Linux 6.13 and later). 0 when there is no such file, or no such call.
static inline int holdfast_identify_file(const char *path, sqlite3_uint64 *device, sqlite3_uint64 *number) {
  struct statx status;
  if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_INO, &status) != 0) return 0;
  *device = makedev(status.stx_dev_major, status.stx_dev_minor);
  *number = status.stx_ino;
  return 1;
}
#endif

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
// sqlite3_config is variadic, which Swift can't call.
static inline int holdfast_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#ifndef HOLDFAST_WEB_CLIENT_H
#define HOLDFAST_WEB_CLIENT_H

#include <stddef.h>

/// A file of the JavaScript client, or of the operators' console.
struct web_client_file {
  /// Its path under clients/js, or clients/console.
  const char *_Nonnull path;
  const unsigned char *_Nonnull bytes;
  size_t count;
};

/// How many files there are.
size_t web_client_file_count(void);

/// The file of a number below the count.
struct web_client_file web_client_file(size_t index);

/// How many files the console has.
size_t console_file_count(void);

/// The file of the console of a number below the count.
struct web_client_file console_file(size_t index);

#endif

#pragma once
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>

// Variadic C functions do not import into Swift; each of these calls one of them with fixed types.

/// Starts a daemon that accepts nothing by itself: connections are handed to it with MHD_add_connection.
/// `strict` rejects a request without Host and a request target with a space in it.
static inline struct MHD_Daemon *_Nullable holdfast_http_start(
    unsigned int threads, unsigned int connections, size_t connection_memory,
    MHD_AccessHandlerCallback _Nonnull receive,
    void *_Nullable (*_Nonnull target)(void *_Nullable, const char *_Nonnull, struct MHD_Connection *_Nonnull),
    MHD_RequestCompletedCallback _Nonnull completed,
    MHD_NotifyConnectionCallback _Nonnull notify,
    void *_Nonnull context) {
  struct MHD_OptionItem pool[2] = {
      {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
      {MHD_OPTION_END, 0, NULL}};
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
      receive, context,
      MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
      MHD_OPTION_URI_LOG_CALLBACK, target, context,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, notify, context,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_ARRAY, pool,
      MHD_OPTION_END);
}

/// Takes the query out of the request line, which was read: nobody asks libmicrohttpd for its parameters, of which it keeps a record each, and where
/// these exceed a connection's memory it neither answers nor ends. For the callback of the target alone: what it is given is libmicrohttpd's own
/// buffer, which may be written to.
static inline void holdfast_http_forget_query(const char *_Nonnull target) {
  char *query = strchr(target, '?');
  if (query != NULL) query[1] = 0;
}

/// The connection's socket, or -1.
static inline int holdfast_http_descriptor(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

/// What the notify callback stored for the connection.
static inline void *_Nullable holdfast_http_context(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

/// Bytes of the request line and the header fields.
static inline size_t holdfast_http_header_size(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

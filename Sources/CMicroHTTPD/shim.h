#pragma once
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Variadic C functions do not import into Swift; each of these calls one of them with fixed types.

/// A certificate with the chain above it, and its key, as GnuTLS presents them.
struct holdfast_certificate {
  gnutls_pcert_st chain[16];
  unsigned int count;
  gnutls_privkey_t key;
};

static inline void holdfast_certificate_free(struct holdfast_certificate *_Nullable certificate) {
  if (certificate == NULL) return;
  for (unsigned int index = 0; index < certificate->count; index++) gnutls_pcert_deinit(&certificate->chain[index]);
  if (certificate->key != NULL) gnutls_privkey_deinit(certificate->key);
  free(certificate);
}

/// Whether the key is that of the first certificate.
static inline int holdfast_certificate_fits(struct holdfast_certificate *_Nonnull certificate) {
  unsigned char one[64], other[64];
  size_t one_size = sizeof one, other_size = sizeof other;
  gnutls_pubkey_t open = NULL;
  int fits = gnutls_pubkey_init(&open) == 0 && gnutls_pubkey_import_privkey(open, certificate->key, 0, 0) == 0 &&
      gnutls_pubkey_get_key_id(open, 0, one, &one_size) == 0 &&
      gnutls_pubkey_get_key_id(certificate->chain[0].pubkey, 0, other, &other_size) == 0 &&
      one_size == other_size && memcmp(one, other, one_size) == 0;
  if (open != NULL) gnutls_pubkey_deinit(open);
  return fits;
}

/// Reads a chain and a key in PEM; NULL and a code of GnuTLS when they can't be read, or do not belong together.
static inline struct holdfast_certificate *_Nullable holdfast_certificate_read(
    const unsigned char *_Nonnull chain, unsigned int chain_size, const unsigned char *_Nonnull key,
    unsigned int key_size, int *_Nonnull error) {
  struct holdfast_certificate *certificate = calloc(1, sizeof *certificate);
  if (certificate == NULL) {
    *error = GNUTLS_E_MEMORY_ERROR;
    return NULL;
  }
  gnutls_datum_t chain_data = {(unsigned char *)chain, chain_size}, key_data = {(unsigned char *)key, key_size};
  unsigned int count = 16;
  *error = gnutls_pcert_list_import_x509_raw(
      certificate->chain, &count, &chain_data, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
  if (*error >= 0) {
    certificate->count = count;
    *error = count == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : gnutls_privkey_init(&certificate->key);
  }
  if (*error >= 0) *error = gnutls_privkey_import_x509_raw(certificate->key, &key_data, GNUTLS_X509_FMT_PEM, NULL, 0);
  if (*error >= 0 && !holdfast_certificate_fits(certificate)) *error = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
  if (*error >= 0) return certificate;
  holdfast_certificate_free(certificate);
  return NULL;
}

/// Has a connection present a certificate, which must outlive it; for the moment when it begins. On one without TLS it does nothing.
static inline void holdfast_http_present(
    struct MHD_Connection *_Nonnull connection, struct holdfast_certificate *_Nonnull certificate) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info != NULL && info->tls_session != NULL) gnutls_session_set_ptr(info->tls_session, certificate);
}

/// Asked by GnuTLS in each handshake. What is given stays ours: gnutls_certificate_set_retrieve_function2(3).
static inline int holdfast_http_retrieve(
    gnutls_session_t _Nonnull session, const gnutls_datum_t *_Nullable issuers, int issuer_count,
    const gnutls_pk_algorithm_t *_Nullable algorithms, int algorithm_count,
    gnutls_pcert_st *_Nullable *_Nonnull chain, unsigned int *_Nonnull count, gnutls_privkey_t _Nullable *_Nonnull key) {
  struct holdfast_certificate *certificate = gnutls_session_get_ptr(session);
  if (certificate == NULL) return -1;
  *chain = certificate->chain;
  *count = certificate->count;
  *key = certificate->key;
  return 0;
}

/// Starts a daemon that accepts nothing by itself: connections are handed to it with MHD_add_connection.
/// `strict` rejects a request without Host and a request target with a space in it. With `tls` each connection is to be given its certificate.
static inline struct MHD_Daemon *_Nullable holdfast_http_start(
    unsigned int threads, unsigned int connections, size_t connection_memory, int tls,
    MHD_AccessHandlerCallback _Nonnull receive,
    void *_Nullable (*_Nonnull target)(void *_Nullable, const char *_Nonnull, struct MHD_Connection *_Nonnull),
    MHD_RequestCompletedCallback _Nonnull completed,
    MHD_NotifyConnectionCallback _Nonnull notify,
    void *_Nonnull context) {
  struct MHD_OptionItem pool[2] = {
      {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
      {MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem security[3] = {
      {tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, 0, (void *)holdfast_http_retrieve},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
      {MHD_OPTION_END, 0, NULL}};
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
      receive, context,
      MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
      MHD_OPTION_URI_LOG_CALLBACK, target, context,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, notify, context,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_ARRAY, pool,
      MHD_OPTION_ARRAY, security,
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

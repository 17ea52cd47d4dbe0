#pragma once
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>

// Some of GnuTLS's constants are macros that Swift does not see.

/// Reads a chain and a key in PEM; NULL and a code of GnuTLS when they can't be read, or do not belong together.
static inline gnutls_certificate_credentials_t _Nullable holdfast_tls_read(
    const unsigned char *_Nonnull chain, unsigned int chain_size, const unsigned char *_Nonnull key,
    unsigned int key_size, int *_Nonnull error) {
  gnutls_certificate_credentials_t credentials = NULL;
  gnutls_datum_t chain_data = {(unsigned char *)chain, chain_size}, key_data = {(unsigned char *)key, key_size};
  *error = gnutls_certificate_allocate_credentials(&credentials);
  if (*error < 0) return NULL;
  *error = gnutls_certificate_set_x509_key_mem(credentials, &chain_data, &key_data, GNUTLS_X509_FMT_PEM);
  if (*error >= 0) return credentials;
  gnutls_certificate_free_credentials(credentials);
  return NULL;
}

/// A session of a server over a socket that never waits; NULL when there is no memory. The credentials must outlive it.
static inline gnutls_session_t _Nullable holdfast_tls_open(
    int descriptor, gnutls_certificate_credentials_t _Nonnull credentials, gnutls_priority_t _Nonnull priorities) {
  gnutls_session_t session = NULL;
  if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) return NULL;
  if (gnutls_priority_set(session, priorities) < 0 ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) < 0) {
    gnutls_deinit(session);
    return NULL;
  }
  gnutls_transport_set_int2(session, descriptor, descriptor);
  // Each connection has deadlines of its own.
  gnutls_handshake_set_timeout(session, GNUTLS_INDEFINITE_TIMEOUT);
  return session;
}

/// Whether a result only says that the socket has to be waited for, or that a call is to be made again.
static inline int holdfast_tls_must_wait(ssize_t result) {
  return result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED;
}

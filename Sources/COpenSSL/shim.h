#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stddef.h>

// What takes several calls with macros among them, which do not import into Swift. Source: EVP_PKEY_fromdata(3), EVP_DigestVerifyInit(3).

/// The public key of a type that the parameters say; frees the builder.
static inline EVP_PKEY *_Nullable holdfast_key(const char *_Nonnull type, OSSL_PARAM_BLD *_Nonnull build) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (parameters == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
      EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1) {
    key = NULL;
  }
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(build);
  return key;
}

/// An RSA key of its modulus and exponent, big-endian.
static inline EVP_PKEY *_Nullable holdfast_rsa_key(
    const unsigned char *_Nonnull modulus, int modulus_size, const unsigned char *_Nonnull exponent,
    int exponent_size) {
  BIGNUM *n = BN_bin2bn(modulus, modulus_size, NULL);
  BIGNUM *e = BN_bin2bn(exponent, exponent_size, NULL);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  EVP_PKEY *key = NULL;
  if (n != NULL && e != NULL && build != NULL && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
      OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
    key = holdfast_key("RSA", build);
  } else {
    OSSL_PARAM_BLD_free(build);
  }
  BN_free(n);
  BN_free(e);
  return key;
}

/// A key of P-256: its point, uncompressed, which must be on the curve.
static inline EVP_PKEY *_Nullable holdfast_p256_key(const unsigned char *_Nonnull point, size_t size) {
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  if (build == NULL) return NULL;
  if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, size) != 1) {
    OSSL_PARAM_BLD_free(build);
    return NULL;
  }
  EVP_PKEY *key = holdfast_key("EC", build);
  EVP_PKEY_CTX *context = key == NULL ? NULL : EVP_PKEY_CTX_new(key, NULL);
  if (context == NULL || EVP_PKEY_public_check(context) != 1) {
    EVP_PKEY_free(key);
    key = NULL;
  }
  EVP_PKEY_CTX_free(context);
  return key;
}

/// A key of Ed25519, 32 bytes.
static inline EVP_PKEY *_Nullable holdfast_ed25519_key(const unsigned char *_Nonnull bytes) {
  return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, 32);
}

/// Whether a signature is the key's: with SHA-256, or, for Ed25519, of the message itself.
static inline int holdfast_verify(
    EVP_PKEY *_Nonnull key, int is_hashed, const unsigned char *_Nonnull message, size_t message_size,
    const unsigned char *_Nonnull signature, size_t signature_size) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int result = context != NULL &&
      EVP_DigestVerifyInit(context, NULL, is_hashed ? EVP_sha256() : NULL, NULL, key) == 1 &&
      EVP_DigestVerify(context, signature, signature_size, message, message_size) == 1;
  EVP_MD_CTX_free(context);
  return result;
}

/// The same for a signature of P-256 in the form of JWS: two numbers of 32 bytes.
static inline int holdfast_verify_p256(
    EVP_PKEY *_Nonnull key, const unsigned char *_Nonnull message, size_t message_size,
    const unsigned char *_Nonnull numbers) {
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(numbers, 32, NULL);
  BIGNUM *s = BN_bin2bn(numbers + 32, 32, NULL);
  if (pair == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return 0;
  }
  unsigned char *der = NULL;
  int size = i2d_ECDSA_SIG(pair, &der);
  int result = size > 0 && holdfast_verify(key, 1, message, message_size, der, (size_t)size);
  OPENSSL_free(der);
  ECDSA_SIG_free(pair);
  return result;
}

#pragma once
#include <curl/curl.h>
#include <stddef.h>

// Variadic C functions do not import into Swift; each of these calls one of them with fixed types.

typedef size_t (*holdfast_curl_receiver)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);

static inline CURLcode holdfast_curl_set_long(CURL *_Nonnull handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_size(CURL *_Nonnull handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_text(
    CURL *_Nonnull handle, CURLoption option, const char *_Nullable value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_pointer(CURL *_Nonnull handle, CURLoption option, void *_Nullable value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_receiver(
    CURL *_Nonnull handle, CURLoption option, holdfast_curl_receiver _Nonnull receiver) {
  return curl_easy_setopt(handle, option, receiver);
}

static inline CURLcode holdfast_curl_get_long(CURL *_Nonnull handle, CURLINFO info, long *_Nonnull value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode holdfast_curl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

/// The next transfer that ended, NULL when there is none.
static inline CURL *_Nullable holdfast_curl_next_done(CURLM *_Nonnull multi, CURLcode *_Nonnull result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

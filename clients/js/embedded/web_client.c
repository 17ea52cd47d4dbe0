// The files of the JavaScript client, as bytes of the server's program: `holdfast serve` has them at /client/. A test compares this list with the folder.

#include "web_client.h"

// Clang has #embed in all its languages; it is C23's.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_js[] = {
#embed "../index.js"
};
static const unsigned char src_answer_js[] = {
#embed "../src/answer.js"
};
static const unsigned char src_applying_js[] = {
#embed "../src/applying.js"
};
static const unsigned char src_awaiting_js[] = {
#embed "../src/awaiting.js"
};
static const unsigned char src_browser_js[] = {
#embed "../src/browser.js"
};
static const unsigned char src_bytes_js[] = {
#embed "../src/bytes.js"
};
static const unsigned char src_engine_js[] = {
#embed "../src/engine.js"
};
static const unsigned char src_entries_js[] = {
#embed "../src/entries.js"
};
static const unsigned char src_erasing_js[] = {
#embed "../src/erasing.js"
};
static const unsigned char src_event_parser_js[] = {
#embed "../src/event-parser.js"
};
static const unsigned char src_event_stream_js[] = {
#embed "../src/event-stream.js"
};
static const unsigned char src_folder_directory_js[] = {
#embed "../src/folder-directory.js"
};
static const unsigned char src_folder_engine_js[] = {
#embed "../src/folder-engine.js"
};
static const unsigned char src_folder_list_js[] = {
#embed "../src/folder-list.js"
};
static const unsigned char src_folder_stores_js[] = {
#embed "../src/folder-stores.js"
};
static const unsigned char src_history_js[] = {
#embed "../src/history.js"
};
static const unsigned char src_identifiers_js[] = {
#embed "../src/identifiers.js"
};
static const unsigned char src_indexeddb_storage_js[] = {
#embed "../src/indexeddb-storage.js"
};
static const unsigned char src_json_js[] = {
#embed "../src/json.js"
};
static const unsigned char src_memory_storage_js[] = {
#embed "../src/memory-storage.js"
};
static const unsigned char src_merge_js[] = {
#embed "../src/merge.js"
};
static const unsigned char src_operations_js[] = {
#embed "../src/operations.js"
};
static const unsigned char src_position_js[] = {
#embed "../src/position.js"
};
static const unsigned char src_quarantine_js[] = {
#embed "../src/quarantine.js"
};
static const unsigned char src_reading_js[] = {
#embed "../src/reading.js"
};
static const unsigned char src_recovery_js[] = {
#embed "../src/recovery.js"
};
static const unsigned char src_request_size_js[] = {
#embed "../src/request-size.js"
};
static const unsigned char src_requests_js[] = {
#embed "../src/requests.js"
};
static const unsigned char src_resending_js[] = {
#embed "../src/resending.js"
};
static const unsigned char src_schema_change_js[] = {
#embed "../src/schema-change.js"
};
static const unsigned char src_schema_js[] = {
#embed "../src/schema.js"
};
static const unsigned char src_sealing_js[] = {
#embed "../src/sealing.js"
};
static const unsigned char src_sessions_js[] = {
#embed "../src/sessions.js"
};
static const unsigned char src_shapes_js[] = {
#embed "../src/shapes.js"
};
static const unsigned char src_state_js[] = {
#embed "../src/state.js"
};
static const unsigned char src_store_error_js[] = {
#embed "../src/store-error.js"
};
static const unsigned char src_store_folder_js[] = {
#embed "../src/store-folder.js"
};
static const unsigned char src_store_js[] = {
#embed "../src/store.js"
};
static const unsigned char src_sync_machine_js[] = {
#embed "../src/sync-machine.js"
};
static const unsigned char src_tabs_js[] = {
#embed "../src/tabs.js"
};
static const unsigned char src_text_difference_js[] = {
#embed "../src/text-difference.js"
};
static const unsigned char src_text_merge_js[] = {
#embed "../src/text-merge.js"
};
static const unsigned char src_time_js[] = {
#embed "../src/time.js"
};
static const unsigned char src_transaction_js[] = {
#embed "../src/transaction.js"
};
static const unsigned char src_transport_js[] = {
#embed "../src/transport.js"
};
static const unsigned char src_unapplied_js[] = {
#embed "../src/unapplied.js"
};
static const unsigned char src_undo_js[] = {
#embed "../src/undo.js"
};
static const unsigned char src_values_js[] = {
#embed "../src/values.js"
};
static const unsigned char src_write_error_js[] = {
#embed "../src/write-error.js"
};
static const unsigned char src_zones_js[] = {
#embed "../src/zones.js"
};

static const struct web_client_file files[] = {
  {"index.js", index_js, sizeof index_js},
  {"src/answer.js", src_answer_js, sizeof src_answer_js},
  {"src/applying.js", src_applying_js, sizeof src_applying_js},
  {"src/awaiting.js", src_awaiting_js, sizeof src_awaiting_js},
  {"src/browser.js", src_browser_js, sizeof src_browser_js},
  {"src/bytes.js", src_bytes_js, sizeof src_bytes_js},
  {"src/engine.js", src_engine_js, sizeof src_engine_js},
  {"src/entries.js", src_entries_js, sizeof src_entries_js},
  {"src/erasing.js", src_erasing_js, sizeof src_erasing_js},
  {"src/event-parser.js", src_event_parser_js, sizeof src_event_parser_js},
  {"src/event-stream.js", src_event_stream_js, sizeof src_event_stream_js},
  {"src/folder-directory.js", src_folder_directory_js, sizeof src_folder_directory_js},
  {"src/folder-engine.js", src_folder_engine_js, sizeof src_folder_engine_js},
  {"src/folder-list.js", src_folder_list_js, sizeof src_folder_list_js},
  {"src/folder-stores.js", src_folder_stores_js, sizeof src_folder_stores_js},
  {"src/history.js", src_history_js, sizeof src_history_js},
  {"src/identifiers.js", src_identifiers_js, sizeof src_identifiers_js},
  {"src/indexeddb-storage.js", src_indexeddb_storage_js, sizeof src_indexeddb_storage_js},
  {"src/json.js", src_json_js, sizeof src_json_js},
  {"src/memory-storage.js", src_memory_storage_js, sizeof src_memory_storage_js},
  {"src/merge.js", src_merge_js, sizeof src_merge_js},
  {"src/operations.js", src_operations_js, sizeof src_operations_js},
  {"src/position.js", src_position_js, sizeof src_position_js},
  {"src/quarantine.js", src_quarantine_js, sizeof src_quarantine_js},
  {"src/reading.js", src_reading_js, sizeof src_reading_js},
  {"src/recovery.js", src_recovery_js, sizeof src_recovery_js},
  {"src/request-size.js", src_request_size_js, sizeof src_request_size_js},
  {"src/requests.js", src_requests_js, sizeof src_requests_js},
  {"src/resending.js", src_resending_js, sizeof src_resending_js},
  {"src/schema-change.js", src_schema_change_js, sizeof src_schema_change_js},
  {"src/schema.js", src_schema_js, sizeof src_schema_js},
  {"src/sealing.js", src_sealing_js, sizeof src_sealing_js},
  {"src/sessions.js", src_sessions_js, sizeof src_sessions_js},
  {"src/shapes.js", src_shapes_js, sizeof src_shapes_js},
  {"src/state.js", src_state_js, sizeof src_state_js},
  {"src/store-error.js", src_store_error_js, sizeof src_store_error_js},
  {"src/store-folder.js", src_store_folder_js, sizeof src_store_folder_js},
  {"src/store.js", src_store_js, sizeof src_store_js},
  {"src/sync-machine.js", src_sync_machine_js, sizeof src_sync_machine_js},
  {"src/tabs.js", src_tabs_js, sizeof src_tabs_js},
  {"src/text-difference.js", src_text_difference_js, sizeof src_text_difference_js},
  {"src/text-merge.js", src_text_merge_js, sizeof src_text_merge_js},
  {"src/time.js", src_time_js, sizeof src_time_js},
  {"src/transaction.js", src_transaction_js, sizeof src_transaction_js},
  {"src/transport.js", src_transport_js, sizeof src_transport_js},
  {"src/unapplied.js", src_unapplied_js, sizeof src_unapplied_js},
  {"src/undo.js", src_undo_js, sizeof src_undo_js},
  {"src/values.js", src_values_js, sizeof src_values_js},
  {"src/write-error.js", src_write_error_js, sizeof src_write_error_js},
  {"src/zones.js", src_zones_js, sizeof src_zones_js},
};

size_t web_client_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_client_file web_client_file(size_t index) { return files[index]; }

#pragma once
#include <libpq-fe.h>

// The names of an error's fields are character macros, which Swift doesn't import.
static const int holdfast_pg_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int holdfast_pg_state = PG_DIAG_SQLSTATE;
static const int holdfast_pg_message = PG_DIAG_MESSAGE_PRIMARY;
static const int holdfast_pg_context = PG_DIAG_CONTEXT;
static const int holdfast_pg_function = PG_DIAG_SOURCE_FUNCTION;
static const int holdfast_pg_detail = PG_DIAG_MESSAGE_DETAIL;
static const int holdfast_pg_schema = PG_DIAG_SCHEMA_NAME;
static const int holdfast_pg_table = PG_DIAG_TABLE_NAME;
static const int holdfast_pg_column = PG_DIAG_COLUMN_NAME;
static const int holdfast_pg_constraint = PG_DIAG_CONSTRAINT_NAME;

# A cache that keeps every answer, and asks the server again before it gives it to anybody: what "no-cache" allows.
vcl 4.1;
backend holdfast { .host = "127.0.0.1"; .port = "UPSTREAM"; }

sub vcl_recv {
  if (req.method == "GET" || req.method == "HEAD") { return (hash); }
  return (pass);
}

sub vcl_hash {
  # Requests with a token are kept apart, as Vary says, too.
  hash_data(req.http.Authorization);
}

sub vcl_backend_response {
  if (beresp.http.Cache-Control ~ "no-store") { set beresp.uncacheable = true; return (deliver); }
  # None at all would keep nothing.
  set beresp.ttl = 1ms;
  set beresp.grace = 0s;
  set beresp.keep = 1h;
  return (deliver);
}

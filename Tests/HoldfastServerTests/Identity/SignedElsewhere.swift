/// Tokens that were signed elsewhere, by `openssl`, and the keys that they were signed with: of subject s-1, until the year 2100.
enum SignedElsewhere {
  static let rsaToken = """
    eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoiaG9sZ\
    GZhc3QiLCJzdWIiOiJzLTEiLCJleHAiOjQxMDI0NDQ4MDB9.vZecXD1BzpOhrA7VeSvNNJ1vt79i2BC_zX1N_obCd-x6OiyiCr--L4Cv28byrP\
    pNb0CBe99MWu1pJm6CGRTpf2_nvwO4vvSAkikMym12mM6iH0-K1sFcOkRZff2LiSjeCwbaW1c4ddnlNugHTdoQuBKD9DUDloRHE5YX5vV4qHwm\
    cfAvO98XvqCkngEOgE_F6F5KaLXKUNBUxJOUuEep_lx72rOy3NzsLLSJ1Td6JU5egwT3xloGKxQ-KDxJEd-7pKlhgTuL3xDJj4lOvydZCK6sNH\
    Ru8jEM0N7LnkI7kHWbgM3LU7s3J2U4p1wQqkBtc7QbnqMl5GklKSr-ww0XtA
    """
  static let rsaKey = """
    {"kty": "RSA", "kid": "rsa", "n": "vsl1cxikk99tEgAwpBEVFS2FQ03sixeprMw9JMhJDfy2K4ALsgYvOVdNOrH9gDmtjDEMopoJhMX\
    LSETxnZYrLEAY4aGCE-7eynUDrmFNMv-6PDhK7CBUc9fe_sikN-rEFLA0ieCNKyS9pWDo5xJcuyrBa3Q9t6eCicpVYIc9fcIIy76Z-YDyT3457\
    kbJi3fGJzfb_hhZRF5YUkwi5CsZStd-ngFu3SzOZp3OfZkXo18NVRLZdZwesoTlQ_ioCzhJ0Ktrybnrpa6PW3InU9g4iJgQ307iLK0X_0dJvaa\
    kJ-JBpz54yJkzc7kcFr34xwx7x2S_7m4tUDbqCSmX8Z0K0Q", "e": "AQAB", "use": "sig"}
    """
  static let smallRSAToken = """
    eyJhbGciOiJSUzI1NiIsImtpZCI6InNtYWxsIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoiaG\
    9sZGZhc3QiLCJzdWIiOiJzLTEiLCJleHAiOjQxMDI0NDQ4MDB9.bBQbCeH3ed83xExwcgEd7c7JhMj3BmWnn-uayDQy9XaWMO1pV96e7TkuRrw\
    _OkJsyD45hMmT7zUFbOHNcOw27kk5Rc44NUwixrMxN8r6DcvYBY0z2mgDZaU_d4Wp2M5GcXNcRKyliczitU2p88R81Jrco4lhCZRJ-npL_qDEJ\
    Rs
    """
  static let smallRSAKey = """
    {"kty": "RSA", "kid": "small", "n": "wTcFwQffVOmJ8H-ECyZ0QB3v9kQrNk-3ng_7Am29N06TQEDdpgJoEdB0E2489GHo40vHIOwyq\
    oHo6FqH5vqrn0sYRjUhEwVkUqys7h9Ka_TAUoUfCQoqw0QzMzTYLUGQp6OZ-Eg4IV-DouQWhzpQt4Y68sr4BD9KYApLGMovaNM", "e": "AQA\
    B", "use": "sig"}
    """
  static let p256Token = """
    eyJhbGciOiJFUzI1NiIsImtpZCI6InAyNTYifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoiaG9sZGZhc3QiLCJzdWI\
    iOiJzLTEiLCJleHAiOjQxMDI0NDQ4MDB9.fB8_vKMGiM1V3slep5jqehlD4zMwnb2hplIzROgOR_sp-b-p22jnhWcyLR2VqMtWj-SIuPhzc35_\
    hnZjvWUQlw
    """
  static let p256Key = """
    {"kty": "EC", "crv": "P-256", "kid": "p256", "x": "1YqxKhnT014ARBRFlHzzMwGy_v7byYaujOJnvUIwgHQ", "y": "C75XjBr\
    U0Po1RZW3pJVdibL5o2Z-XfdEEtTMMa_V5rg"}
    """
  static let p384Token = """
    eyJhbGciOiJFUzI1NiIsImtpZCI6InAzODQifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUub3JnIiwiYXVkIjoiaG9sZGZhc3QiLCJzdWI\
    iOiJzLTEiLCJleHAiOjQxMDI0NDQ4MDB9.oSNR0efYzb10sCGa7ydc_v3xrdKsbng-TGGypYm3JcgitBhokuHiktY6i2ZxvI5ocqaKSP4yFqkz\
    AjFIabTOO_g8U9A_3KMJjvwhAYtjk-1A8rmTbDxq8ya2vq7zyOJS
    """
  static let p384Key = """
    {"kty": "EC", "crv": "P-384", "kid": "p384", "x": "6WpUvxeGEhn3EHE80Ni0yRdJHDN9mmcvA200LdosVKjynEAIteQfHMIv6rU\
    A3vOu", "y": "-zZs1WHYwdS1cguI2A7lrU2gOTqHiwYtdnJIuBaLE6GJZ3fblEi0S-bSyM-FGyKA"}
    """
}

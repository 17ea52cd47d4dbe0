"""Backups in a bucket of moto, a store that checks each signature: bucket.py HOLDFAST MOTO_SERVER PORT FOLDER."""
import json
import os
import subprocess
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

holdfast, moto, port, folder = sys.argv[1:]
address = f"http://127.0.0.1:{port}"
data = f"{folder}/data"
region = "eu-central-1"


def client(service, key="x", secret="x"):
    return boto3.client(
        service, endpoint_url=address, region_name=region, aws_access_key_id=key, aws_secret_access_key=secret,
        config=Config(s3={"addressing_style": "path"}))


def make_key():
    """Gives the id and the secret of a user who may do everything. These three requests are the only ones that moto does not check."""
    iam = client("iam")
    while True:
        try:
            iam.create_user(UserName="holdfast")
            break
        except EndpointConnectionError:
            time.sleep(0.1)
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(UserName="holdfast", PolicyName="all", PolicyDocument=json.dumps(everything))
    key = iam.create_access_key(UserName="holdfast")["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def run(*words, key, status=0, said=""):
    variables = {"AWS_ACCESS_KEY_ID": key[0], "AWS_SECRET_ACCESS_KEY": key[1], "AWS_REGION": region, "HOLDFAST_S3_ENDPOINT": address}
    done = subprocess.run([holdfast, *words], env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == status and said in done.stderr, f"{words}: {done}"
    return done.stdout


server = subprocess.Popen(
    [moto, "-H", "127.0.0.1", "-p", port], env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "3"},
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    key = make_key()
    s3 = client("s3", *key)
    s3.create_bucket(Bucket="backups", CreateBucketConfiguration={"LocationConstraint": region})
    for prefix in ["", "shop", "a b+c&d=é/%20#?~(1)"]:
        place = f"s3://backups/{prefix}".removesuffix("/")
        for _ in range(3):
            answer = run("backup", "--to", place, "--keep", "2", "--data", data, "--json", key=key)
        name = json.loads(answer)["file"]
        epoch = name[-len("01234567.backup"):]
        found = s3.list_objects_v2(Bucket="backups", Prefix=f"{prefix}/" if prefix else "holdfast-")["Contents"]
        assert len(found) == 2 and f"s3://backups/{found[1]['Key']}" == name, f"{found} {name}"
        run("backup", "--verify", name, key=key)
        restored = f"{folder}/restored-{len(prefix)}"
        run("restore", name, "--data", restored, key=key)
        run("doctor", "--data", restored, key=key)
    run("backup", "--to", "s3://backups/shop", "--data", data, key=(key[0], "wrong"), status=1, said="403 SignatureDoesNotMatch")
    run("backup", "--to", "s3://none/shop", "--data", data, key=key, status=1, said="has no bucket none")
    run("restore", "s3://backups/shop/none", "--data", f"{folder}/none", key=key, status=1, said="There is no s3://backups/shop/none")
    # A listing has 1,000 names on a page.
    for number in range(1100):
        s3.put_object(Bucket="backups", Key=f"many/holdfast-2020-01-01T00-{number // 60:02}-{number % 60:02}.000Z-{epoch}", Body=b"x")
    removed = json.loads(run("backup", "--to", "s3://backups/many", "--keep", "1", "--data", data, "--json", key=key))["removed"]
    assert len(removed) == 1100 and s3.list_objects_v2(Bucket="backups", Prefix="many/")["KeyCount"] == 1
    print("Backups in a bucket: all is as it should be.")
finally:
    server.terminate()
    server.wait()

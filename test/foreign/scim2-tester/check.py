# Runs scim2-tester against the given address and token; prints each finding as a line of JSON.
import json
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

base, token = sys.argv[1:3]
client = SyncSCIMClient(httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}))
client.discover()
for result in check_server(client):
    print(json.dumps({"check": result.title, "status": result.status.name, "reason": str(result.reason)[:1000]}))

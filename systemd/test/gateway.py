"""gateway.py SETTINGS: the process of the gateway, by what it says of itself; then what becomes of a request."""

import json
import sys
import urllib.error
import urllib.request

settings = json.load(open(sys.argv[1]))
url = f"http://127.0.0.1:{settings['port']}/{settings['secret']}"
print(json.load(urllib.request.urlopen(url, timeout=10))["pid"])
try:
    urllib.request.urlopen(url + "/openai/responses", data=b'{"input":[]}', timeout=10)
except urllib.error.HTTPError as error:
    print(error.code)

"""The same index as an MCP server over standard streams: one tool, `find_class`."""

import json
import subprocess
import sys

TOOL = {
    "name": "find_class",
    "description": "Find classes by their name or the name of a base class.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


def answer(method, params):
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "kg", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        done = subprocess.run(
            ["bin/kg", params["arguments"]["name"]], capture_output=True, text=True, check=False
        )
        return {"content": [{"type": "text", "text": done.stdout or "nothing found"}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)

"""PostToolBatch: tells what came meanwhile. Parses on any Python, and ends with status 0 whatever happens."""

import os
import sys

try:
    root = os.environ.get("CLAUDE_PLUGIN_ROOT") or os.path.realpath(__file__ + "/../..")
    if sys.version_info < (3, 9) or not os.path.isfile(root + "/agent_chat/__init__.py"):
        raise ImportError("needs Python 3.9 (this is %d.%d) and agent_chat in %s" % (sys.version_info[:2] + (root,)))
    sys.path.insert(0, root)
    __import__("agent_chat.hooks.entry", fromlist=["entry"]).run_from_console("post-tool-batch")
except Exception as error:
    sys.stderr.write("agent-chat: hook not run: %s\n" % " ".join(str(error).split())) and sys.stderr.flush()
finally:
    os._exit(0)

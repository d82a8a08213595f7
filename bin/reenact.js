#!/usr/bin/env node
'use strict';

// Old Nodes would fail on the syntax of the compiled files with a message that helps nobody.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`reenact: USAGE Node ${process.versions.node} is too old.\nUse Node 20.19 or newer.\n`);
  process.exit(2);
}

require('../dist/replay/cli/main.js').main(process.argv.slice(2));

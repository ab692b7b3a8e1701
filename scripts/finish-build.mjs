/** After tsc: the program's file may be run as it is. */
import { chmodSync } from 'node:fs';

chmodSync('dist/main.js', 0o755);

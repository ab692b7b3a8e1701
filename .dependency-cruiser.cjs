/**
 * The layers of ARCHITECTURE.md. Each folder of src/ names what it may import; anything else is forbidden, cycles too.
 * Type-only imports count: a type is a dependency on an idea.
 */
const layers = {
  // The process boundary and the composition root.
  main: ['app', 'cli', 'runtime', 'telemetry', 'demo'],
  app: ['admin', 'balance', 'config', 'control', 'grpc', 'http2', 'policy', 'proxy', 'replay', 'runtime', 'upstream'],
  cli: ['admin', 'app', 'config', 'grpc', 'policy', 'sim', 'text'],
  demo: ['app', 'config', 'grpc', 'policy', 'proxy', 'text'],
  config: ['grpc', 'policy'],
  policy: ['grpc'],
  grpc: [],
  text: [],
  replay: [],
  balance: ['grpc'],
  sim: ['policy', 'replay', 'balance', 'grpc', 'config'],
  runtime: [],
  http2: ['runtime'],
  upstream: ['http2', 'grpc', 'runtime'],
  proxy: ['policy', 'replay', 'balance', 'upstream', 'http2', 'grpc', 'runtime'],
  admin: ['proxy', 'policy', 'upstream', 'balance', 'grpc', 'runtime'],
  dashboard: ['admin', 'text'],
  control: ['balance', 'config', 'grpc', 'upstream', 'runtime'],
  telemetry: ['proxy', 'balance', 'upstream', 'grpc'],
};

/** A layer is a folder of src/, or the file of that name. */
const pathOf = (layer) => `^src/${layer}(/|\\.ts$)`;

const rules = Object.entries(layers).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  comment: `${layer} may import ${allowed.length === 0 ? 'no other layer' : allowed.join(', ')}`,
  severity: 'error',
  from: { path: pathOf(layer) },
  to: { path: '^src/', pathNot: [layer, ...allowed].map(pathOf) },
}));

const pure = '^src/(grpc|policy|replay|balance|config|sim|http2|text)/';

module.exports = {
  forbidden: [
    ...rules,
    {
      name: 'known-layer',
      comment: 'every file of src/ belongs to a layer',
      severity: 'error',
      from: { path: '^src/', pathNot: Object.keys(layers).map(pathOf) },
      to: {},
    },
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'policy-plan-only',
      comment: 'config knows the shape of a plan, nothing of the machine that runs it',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/policy/', pathNot: '^src/policy/types\\.ts$' },
    },
    {
      name: 'pure-core',
      comment: 'pure folders import no node: module',
      severity: 'error',
      from: { path: pure, pathNot: '^src/http2/socket\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'http2-ports-only',
      comment: 'the wire knows of time and turns by their types alone',
      severity: 'error',
      from: { path: '^src/http2/' },
      to: { path: '^src/runtime/', pathNot: '^src/runtime/ports\\.ts$' },
    },
    {
      name: 'dashboard-feed',
      comment:
        'the page knows what it is fed with, and what it shares with `hedgerow top`; nothing else reaches a browser',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: { path: '^src/', pathNot: '^src/(dashboard/|text/words\\.ts$|admin/live(-math)?\\.ts$)' },
    },
    {
      name: 'in-a-browser',
      comment: 'what runs in a browser imports no node: module, and of packages types alone',
      severity: 'error',
      from: { path: '^src/(dashboard/|text/words\\.ts$|admin/live-math\\.ts$)' },
      to: { dependencyTypes: ['core', 'npm'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'live-is-types',
      comment: 'what the page is fed with is a shape: no file of it is there for a browser to load',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: { path: '^src/admin/live\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-orphan', severity: 'error', from: { orphan: true, path: '^src/', pathNot: '^src/main\\.ts$' }, to: {} },
    { name: 'no-test-in-src', severity: 'error', from: { path: '^src/' }, to: { path: '^(test|bench|scripts)/' } },
    {
      name: 'no-undeclared',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'] },
  },
};

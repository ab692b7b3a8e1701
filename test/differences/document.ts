import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Case } from './case-format.js';
import { cases, groups } from './cases.js';

/** How one implementation stands in a case: as `results/*.json` has it. */
type Standing =
  | { readonly agrees: true }
  | { readonly agrees: false; readonly says: string; readonly right: string }
  | { readonly skipped: string };

interface Column {
  readonly name: string;
  readonly version: string;
  standing(script: Case): Standing | undefined;
}

interface Results {
  readonly name: string;
  readonly version: string;
  readonly cases: Readonly<Record<string, Standing>>;
}

const titles: Readonly<Record<string, string>> = {
  commit: 'Commit and buffering',
  config: 'Configuration',
  deadlines: 'Deadlines and cancels',
  hedging: 'Hedging',
  metadata: 'Metadata',
  pushback: 'Pushback',
  retry: 'Retry',
  throttling: 'Throttling',
  transparent: 'Transparent retries',
};
/** The order of the page. */
const order = [
  'retry',
  'pushback',
  'hedging',
  'throttling',
  'transparent',
  'commit',
  'deadlines',
  'metadata',
  'config',
];

/** docs/differences.md as the data and the kept results have it. */
export function differencesPage(): string {
  const columns = [grpcJs(), ...keptResults()];
  return `${[...introduction(columns), ...order.flatMap((name) => section(name, columns)), ...howToRead()].join('\n')}\n`;
}

function grpcJs(): Column {
  const { version } = createRequire(import.meta.url)('@grpc/grpc-js/package.json') as { version: string };
  return {
    name: 'grpc-js',
    version,
    standing({ differs }) {
      const mine = differs?.['grpc-js'];
      return mine === undefined ? { agrees: true } : { agrees: false, says: mine.says, right: mine.right };
    },
  };
}

function keptResults(): Column[] {
  const home = new URL('results/', import.meta.url);
  return entriesOf(home).map((name) => {
    const results = JSON.parse(readFileSync(new URL(name, home), 'utf8')) as Results;
    return { name: results.name, version: results.version, standing: ({ id }) => results.cases[id] };
  });
}

/** No results yet: no columns. */
function entriesOf(home: URL): string[] {
  try {
    return readdirSync(home)
      .filter((name) => name.endsWith('.json'))
      .sort();
  } catch {
    return [];
  }
}

function introduction(columns: readonly Column[]): string[] {
  const [js] = columns;
  const departed = cases.flatMap(({ differs }) => differs?.['grpc-js'] ?? []);
  const open = departed.filter((it) => it.open === true).length;
  return [
    '# Differences from the libraries’ own retries',
    '',
    '<!-- Written by `npm run differences` from test/differences; do not edit. -->',
    '',
    'A gRPC library that reads the service config can retry and hedge by itself. This page is for whoever chooses between that and hedgerow, or runs both: what happens otherwise under the same service config, and which text decides.',
    '',
    `It comes from ${cases.length} scripted cases, kept as data in [test/differences](../test/differences/README.md). Each is run through hedgerow, by a client that never retries, and through the library’s own channel, against the same scripted backend. Hedgerow does in all of them what the case says; \`npm test\` holds it and grpc-js ${js?.version ?? ''} to what stands here, differences included, so that this page changes when either does.`,
    '',
    '| | version | cases that say something of it | as hedgerow | otherwise |',
    '|---|---|---|---|---|',
    ...columns.map(countsOf),
    '',
    `Of grpc-js’s ${departed.length} differences, ${departed.length - open} are departures from a text (gRFC A6, the service config, gRPC over HTTP/2, an RFC); in ${open}, marked *open*, no text decides, and hedgerow’s choice is given with its reason.`,
    '',
    columns.length > 1
      ? 'How the channels of the other languages were run, and what they cannot show: [interop](interop.md).'
      : '<!-- The columns of grpc-go and grpc-java appear when the interop run has written test/differences/results. -->',
    '',
  ];
}

function countsOf({ name, version, standing }: Column): string {
  const all = cases.map(standing).filter((it): it is Exclude<typeof it, undefined | { skipped: string }> => {
    return it !== undefined && !('skipped' in it);
  });
  const agree = all.filter(({ agrees }) => agrees).length;
  return `| ${name} | ${version} | ${all.length} | ${agree} | ${all.length - agree} |`;
}

function section(name: string, columns: readonly Column[]): string[] {
  const group = groups.find((it) => it.name === name);
  const title = titles[name];
  if (group === undefined || title === undefined) throw new Error(`cases/${name}.json has no title or no file`);
  const rows = group.cases.flatMap((script) => row(script, columns));
  const names = columns.map((column) => column.name);
  return [
    `## ${title}`,
    '',
    `${group.cases.length} cases; ${rows.length === 0 ? 'all the same everywhere' : `${group.cases.length - rows.length} the same everywhere`}.`,
    '',
    ...(rows.length === 0
      ? []
      : [
          `| case | situation, and what hedgerow does | by which text | ${names.join(' | ')} |`,
          `|---|---|---|${names.map(() => '---|').join('')}`,
          ...rows,
          '',
        ]),
  ];
}

/** Empty where no implementation departs. The text is the one given for the first that does. */
function row(script: Case, columns: readonly Column[]): string[] {
  const standings = columns.map(({ standing }) => standing(script));
  const first = standings.findIndex((it) => it !== undefined && 'agrees' in it && !it.agrees);
  const departing = standings[first];
  if (departing === undefined || !('right' in departing)) return [];
  const open = script.differs?.[columns[first]?.name ?? '']?.open === true;
  const situation = script.configRejected === true ? `${script.title}: refused` : script.title;
  const text = `${open ? '*open*: ' : ''}${departing.right}`;
  return [`| ${[`\`${script.id}\``, situation, text, ...standings.map(cell)].map(escaped).join(' | ')} |`];
}

function cell(standing: Standing | undefined): string {
  if (standing === undefined) return '';
  if ('skipped' in standing) return 'n/a';
  return standing.agrees ? 'the same' : standing.says;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}

function howToRead(): string[] {
  return [
    '## How far this goes',
    '',
    '- A case is one situation, not a share of traffic: the counts say nothing of how often one meets a difference.',
    '- Buffer limits are each implementation’s own (hedgerow 256 KiB a call, grpc-js 1 MiB): no case lies between them.',
    '- No case asserts that something is fast, only that it does not come too early. What differs in time alone is told, and asserted for hedgerow.',
    '- Causes, in the libraries’ sources, stand beside each case in the data (`why`).',
  ];
}

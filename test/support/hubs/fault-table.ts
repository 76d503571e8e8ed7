/** Table of faults of joined hubs: what works while a part is away. Each cell is a test of test/contract/joined-hubs-table.test.ts. */

export const FAULTS = {
  site: "the site's hub is down",
  link: 'the link is down',
  home: 'headquarters is down',
  versions: 'headquarters is of a version that takes no hubs',
} as const;
export type Fault = keyof typeof FAULTS;

export const OPERATIONS = {
  create: 'hand in a job',
  follow: 'follow its output',
  cancel: 'cancel it by force',
  list: 'list instances',
  command: 'command an instance',
  fetch: 'fetch outputs',
  run: 'run a job that has begun',
} as const;
export type Operation = keyof typeof OPERATIONS;

const APART = 'at each hub with its own instances, as ever';

export const WORKS: Readonly<Record<Fault, Readonly<Record<Operation, string>>>> = {
  site: {
    create: 'accepted at headquarters; it waits while only instances of the site fit it, and says so',
    follow: 'at headquarters, what was printed before',
    cancel: 'it ends at headquarters at once, at the site when its hub is back',
    list: 'those of the site are `UNKNOWN`, and its agent is `DOWN`, with the time at which it was last seen',
    command: '502: the agent is not connected',
    fetch: 'at headquarters, of all jobs that have ended',
    run: "it goes on at the site; its end is reported when the site's hub is back, within the lease",
  },
  link: {
    create: 'accepted at headquarters; it waits while only instances of the site fit it, and says so',
    follow: 'at headquarters, what was printed before; at the site, all',
    cancel: 'it ends at headquarters at once, at the site when the link is back',
    list: 'at headquarters, those of the site are `UNKNOWN`; at the site, as ever',
    command: '502 at headquarters: the agent is not connected; at the site, as ever',
    fetch: 'at headquarters, of all jobs that have ended there',
    run: 'it goes on and ends at the site; its end is reported when the link is back, within the lease',
  },
  home: {
    create: 'not at headquarters; at the site, as ever',
    follow: 'at the site',
    cancel: 'at the site: it returns to headquarters, which runs it again',
    list: 'at the site, as ever; the upstream is `DOWN`, with the reason',
    command: 'at the site, as ever',
    fetch: 'at the site, of loans that have ended; headquarters has them when it is back',
    run: 'it goes on and ends at the site; its end is reported when headquarters is back',
  },
  versions: {
    create: APART,
    follow: APART,
    cancel: APART,
    list: 'at each hub its own; the upstream is `DOWN` at the site, whose log and `GET /api/x/upstreams` say which hub to update',
    command: APART,
    fetch: APART,
    run: APART,
  },
};

/** The table in Markdown, one section for each fault. */
export function faultTableAsText(): string {
  const sections = Object.entries(FAULTS).map(([fault, title]) => {
    const rows = Object.entries(OPERATIONS).map(
      ([operation, words]) => `| ${words} | ${WORKS[fault as Fault][operation as Operation]} |`,
    );
    return [`| while ${title} | |`, '|---|---|', ...rows].join('\n');
  });
  return sections.join('\n\n');
}

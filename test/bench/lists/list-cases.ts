/** Measured lists: first pages with every filter, mainly the costly ones, and pages far behind. */
import { RARE } from './fill-store.js';

export interface ListCase {
  readonly path: string;
  readonly limitMs: number;
}

const TEXT_FILTER = /[?&](id|name|creator)=/;

const V2 = '/api/2.0/workbench/task/list';
const V1 = '/api/1.0/workbench/task/list';

const FIRST_PAGES = [
  V2,
  `${V2}?size=2000`,
  // Enumerations: frequent, rare, several, none.
  `${V2}?status=WAITING`,
  `${V2}?status=FAILED`,
  `${V2}?status=RUNNING`,
  `${V2}?status=FINISHED,CANCELED,FAILED`,
  `${V2}?type=SIMULATE_WORK`,
  `${V2}?priority=HIGH`,
  `${V2}?priority=LOWEST`,
  `${V2}?type=EXECUTE_BATCH_JOB&priority=HIGH&status=CANCELED`,
  // Names: no hit, few hits, nearly all, and patterns that begin and end in every way.
  `${V2}?name=*xyzzy*`,
  `${V2}?name=*q*`,
  `${V2}?name=${RARE.name.replaceAll(' ', '%20')}`,
  `${V2}?name=*haystack`,
  `${V2}?name=*e*`,
  `${V2}?name=*run*`,
  `${V2}?name=*1*2*3*`,
  `${V2}?name=gear*study*ab?c*`,
  `${V2}?name=gear%20study*`,
  `${V2}?name=*99`,
  `${V2}?name=??????????????????????`,
  // Creators.
  `${V2}?creator=${RARE.creator}`,
  `${V2}?creator=user7`,
  `${V2}?creator=*1*`,
  // Identifiers.
  `${V2}?id=*abc`,
  `${V2}?id=*abc*`,
  `${V2}?id=*a*b*c*`,
  `${V2}?id=01*`,
  `${V2}?id=01990000-0000-7000-8000-000000000000`,
  // Everything together.
  `${V2}?id=*a*&name=*study*&creator=user*&type=SIMULATE_WORK&priority=NORMAL&status=FINISHED,WAITING`,
  `${V2}?name=*run*&status=RUNNING`,
  `${V2}?creator=${RARE.creator}&name=gear*`,
  // The other orders.
  `${V1}/waiting`,
  `${V1}/running`,
];

const FAR_PAGES = [
  `${V2}?page=1000&size=20`,
  `${V2}?page=1000&size=20&status=WAITING`,
  `${V2}?page=1000&size=20&name=*1*&creator=user*&status=FINISHED`,
  `${V1}/waiting?page=1000&size=20`,
];

/** Pages in the middle and at the end of a store with this number of tasks, and of waiting ones. */
function endPages(total: number, waiting: number): string[] {
  const page = (tasks: number) => `page=${Math.floor((tasks - 1) / 20)}&size=20`;
  return [
    `${V2}?${page(total / 2)}`,
    `${V2}?${page(total)}`,
    `${V2}?${page(waiting)}&status=WAITING`,
    `${V2}?${page(total / 2)}&name=*run*`,
    `${V1}/waiting?${page(waiting)}`,
  ];
}

export const LIST_PATHS: readonly string[] = [...FIRST_PAGES, ...FAR_PAGES];

export interface ListLimits {
  readonly firstPageMs: number;
  readonly textFilterMs: number;
  readonly farPageMs: number;
}

/** All lists of a store with this number of tasks, and of waiting ones. */
export function listCases(limits: ListLimits, total: number, waiting: number): ListCase[] {
  const far = [...FAR_PAGES, ...endPages(total, waiting)];
  return [...FIRST_PAGES, ...far].map((path) => {
    const byPage = far.includes(path) ? limits.farPageMs : limits.firstPageMs;
    return { path, limitMs: TEXT_FILTER.test(path) ? Math.max(byPage, limits.textFilterMs) : byPage };
  });
}

/** Label in a table. */
export function nameOf({ path }: ListCase): string {
  return decodeURIComponent(path.replace(/^\/api\/(\d\.\d)\/workbench\/task\//, '$1 '));
}

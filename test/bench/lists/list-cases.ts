/** Measured lists: first pages with every filter, mainly the costly ones, and pages far behind. */
import { RARE } from './fill-store.js';

export interface ListCase {
  readonly path: string;
  readonly limitMs: number;
}

const FIRST_PAGE_LIMIT_MS = 50;
const FAR_PAGE_LIMIT_MS = 200;

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

export const LIST_CASES: readonly ListCase[] = [
  ...FIRST_PAGES.map((path) => ({ path, limitMs: FIRST_PAGE_LIMIT_MS })),
  ...FAR_PAGES.map((path) => ({ path, limitMs: FAR_PAGE_LIMIT_MS })),
];

/** Label in a table. */
export function nameOf({ path }: ListCase): string {
  return decodeURIComponent(path.replace(/^\/api\/(\d\.\d)\/workbench\/task\//, '$1 '));
}

// Options of the quickstart.
import { parseArgs } from 'node:util';

export const USAGE = `npm run quickstart [-- [--postgres | --cluster | --sites | --slurm] [--keep] | --stop FOLDER]
  --postgres     keep tasks in PostgreSQL, which is started for it; installs the packages of development
  --cluster      three hubs on one PostgreSQL, behind a load balancer, of which one is killed while a job runs
  --sites        headquarters and two sites that lend it their instances, of which one is cut off while a job runs
  --slurm        no hosts: a study has them come as jobs of a Slurm, which is started for it from Debian's packages, and go
  --keep         leave everything running
  --stop FOLDER  stop what --keep left running, and remove its data and logs in FOLDER`;

/**
 * Reads the options; throws an Error in words for those that are unknown or do not go together.
 *
 * @param {readonly string[]} args
 * @returns {{ keep: boolean, postgres: boolean, cluster: boolean, sites: boolean, slurm: boolean, help: boolean, stop?: string }}
 */
export function readOptions(args) {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: {
      keep: { type: 'boolean', default: false },
      postgres: { type: 'boolean', default: false },
      cluster: { type: 'boolean', default: false },
      sites: { type: 'boolean', default: false },
      slurm: { type: 'boolean', default: false },
      stop: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) if (token.kind === 'option') expectKnown(token);
  if (positionals.length > 0) throw refusal(`"${positionals[0]}" is no option.`);
  const { keep, postgres, cluster, sites, slurm } = values;
  if (values.stop !== undefined && (keep || postgres || cluster || sites || slurm))
    throw refusal('--stop starts nothing, so no other option goes with it.');
  if (slurm && (postgres || cluster || sites))
    throw refusal('--slurm starts one hub without PostgreSQL: leave out --postgres, --cluster and --sites.');
  if (cluster && postgres) throw refusal('--cluster starts PostgreSQL already: leave out --postgres.');
  if (sites && (cluster || postgres))
    throw refusal('--sites starts hubs without PostgreSQL: leave out --cluster and --postgres.');
  return values;
}

const KNOWN = new Set(['keep', 'postgres', 'cluster', 'sites', 'slurm', 'stop', 'help']);

/** Throws for an option that is unknown, lacks its value, or has one too many. */
function expectKnown({ rawName, name, value }) {
  if (!KNOWN.has(name)) throw refusal(`There is no option ${rawName}.`);
  if (name === 'stop' && !value) throw refusal('--stop needs a folder.');
  if (name !== 'stop' && value !== undefined) throw refusal(`${rawName} takes no value.`);
}

function refusal(why) {
  return new Error(`${why} The options are:\n${USAGE}`);
}

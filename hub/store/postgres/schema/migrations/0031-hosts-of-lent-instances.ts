/** Hosts that joined hubs lend instances from, and that come and go. */
export const hostsOfLentInstances = {
  id: '0031-hosts-of-lent-instances',
  phase: 'expand',
  sql: `
  ALTER TABLE agent_instance ADD COLUMN lent_host TEXT COLLATE "C"; -- JSON; null unless a joined hub lends it from a host with an end
`,
} as const;

/** Agents that are hubs, and the state of the instances that they lend. */
export const joinedHubs = {
  id: '0020-joined-hubs',
  phase: 'expand',
  sql: `
  ALTER TABLE agent ADD COLUMN hub TEXT COLLATE "C"; -- JSON; null for any other agent
  ALTER TABLE agent_instance ADD COLUMN lent TEXT COLLATE "C"; -- null unless a joined hub lends it
`,
} as const;

/** How each agent was installed, and its system. */
export const agentInstallation = {
  id: '0028-agent-installation',
  phase: 'expand',
  sql: `
  ALTER TABLE agent ADD COLUMN installation TEXT COLLATE "C"; -- JSON; null for one that has not joined since
`,
} as const;

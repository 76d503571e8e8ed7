/** Groups of endpoints in the OpenAPI document, with their descriptions. */
const TAGS = {
  Service: 'State of the hub for operators: health, build, probes, log file and metrics.',
  'Log-in': 'Login, refresh and logout, and the current user.',
  'Log-in (1.0)': 'Login of API version 1.0. Refresh and logout are in 2.x.',
  'Personal access tokens': 'Long-lived tokens that users create for scripts.',
  Users: 'Users of the hub, their roles and sessions.',
  Tasks: 'Simulation jobs: create, follow, cancel and delete them, and get their results.',
  Studies: 'One job at many points: plan, outcomes and values.',
  'Workbench instances': 'The slots of simulation software that run tasks: state, logs and control.',
  Agents: 'The programs that hold workbench instances on the simulation hosts.',
  Administration: 'Machine of the hub, preparation of a shutdown, and audit log.',
  Storage: 'Large files: input files that users upload, and output files that scripts leave.',
  Events: 'What happens to tasks, told as it happens.',
  Explanations: 'Why a task waits, and when it is expected to start.',
  'Tasks (1.1)': 'Tasks as API version 1.1 shows them.',
  'Workbench instances (1.1)': 'Workbench instances as API version 1.1 shows them.',
  'Servers (1.1)': 'Agents, which API version 1.1 calls servers.',
  'Tasks (1.0)': 'Tasks as API version 1.0 shows them.',
  'Workbench instances (1.0)': 'Workbench instances as API version 1.0 shows them, and their control.',
  'Servers (1.0)': 'Agents, which API version 1.0 calls servers.',
} as const;

export type Tag = keyof typeof TAGS;

export function describedTag(name: Tag): { name: Tag; description: string } {
  return { name, description: TAGS[name] };
}

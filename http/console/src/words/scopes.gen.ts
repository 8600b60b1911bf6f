// Made from http/wire/scopes.go: run go test ./http -update.
export interface ScopeWords {
  group: string;
  may: string;
  includes: readonly string[];
  first: boolean;
}

export const scopeTable = {
  dialout: {
    group: 'Calls',
    may: 'Place single calls, follow them and hang them up',
    includes: ['calls:read'],
    first: true,
  },
  results: {
    group: 'Calls',
    may: 'Send the results of conversations, and transfer calls',
    includes: [],
    first: true,
  },
  read: {
    group: 'Calls',
    may: 'Read campaigns, contacts, calls, recordings and reports',
    includes: ['calls:read', 'campaigns:read'],
    first: true,
  },
  'calls:read': {
    group: 'Calls',
    may: 'Look up a call by its identifier',
    includes: [],
    first: false,
  },
  trigger: {
    group: 'Contacts',
    may: 'Add contacts to campaigns',
    includes: [],
    first: true,
  },
  exclude: {
    group: 'Contacts',
    may: 'Exclude contacts and put numbers on the suppression list',
    includes: [],
    first: true,
  },
  imports: {
    group: 'Contacts',
    may: 'Upload lists of contacts, follow the uploads and read the rows that were refused',
    includes: [],
    first: false,
  },
  exclusions: {
    group: 'Contacts',
    may: 'Upload, add and lift exclusions of campaigns',
    includes: [],
    first: false,
  },
  suppressions: {
    group: 'Contacts',
    may: 'Read the suppression list, upload to it and lift numbers from it',
    includes: [],
    first: false,
  },
  privacy: {
    group: 'Contacts',
    may: 'Erase people and recordings',
    includes: [],
    first: false,
  },
  campaigns: {
    group: 'Campaigns',
    may: 'Create, change, steer and delete campaigns',
    includes: ['campaigns:read'],
    first: false,
  },
  'campaigns:read': {
    group: 'Campaigns',
    may: 'Read campaigns and their figures, without contacts and calls',
    includes: [],
    first: false,
  },
  cadences: {
    group: 'Campaigns',
    may: 'Change cadences',
    includes: ['cadences:read'],
    first: false,
  },
  'cadences:read': {
    group: 'Campaigns',
    may: 'Read cadences',
    includes: [],
    first: false,
  },
  calendars: {
    group: 'Campaigns',
    may: 'Change calendars and the hours of countries',
    includes: ['calendars:read'],
    first: false,
  },
  'calendars:read': {
    group: 'Campaigns',
    may: 'Read calendars',
    includes: [],
    first: false,
  },
  voicemails: {
    group: 'Campaigns',
    may: 'Add and delete messages for answering machines',
    includes: ['voicemails:read'],
    first: false,
  },
  'voicemails:read': {
    group: 'Campaigns',
    may: 'Read the messages for answering machines',
    includes: [],
    first: false,
  },
  reviews: {
    group: 'Campaigns',
    may: 'Hear and label who answered, and export it',
    includes: ['reviews:read'],
    first: false,
  },
  'reviews:read': {
    group: 'Campaigns',
    may: 'Read who answered, and how often that was right',
    includes: [],
    first: false,
  },
  bots: {
    group: 'Lines',
    may: 'Change bots',
    includes: ['bots:read'],
    first: false,
  },
  'bots:read': {
    group: 'Lines',
    may: 'Read bots',
    includes: [],
    first: false,
  },
  trunks: {
    group: 'Lines',
    may: 'Change and test trunks',
    includes: ['trunks:read'],
    first: false,
  },
  'trunks:read': {
    group: 'Lines',
    may: 'Read trunks',
    includes: [],
    first: false,
  },
  numbers: {
    group: 'Lines',
    may: 'Change outbound numbers',
    includes: ['numbers:read'],
    first: false,
  },
  'numbers:read': {
    group: 'Lines',
    may: 'Read outbound numbers',
    includes: [],
    first: false,
  },
  webhooks: {
    group: 'Installation',
    may: 'Subscribe, change and replay webhooks',
    includes: ['webhooks:read'],
    first: false,
  },
  'webhooks:read': {
    group: 'Installation',
    may: 'Read webhooks and their deliveries',
    includes: [],
    first: false,
  },
  health: {
    group: 'Installation',
    may: 'Read the dialler\'s health',
    includes: [],
    first: false,
  },
  activity: {
    group: 'Installation',
    may: 'Read activity logs',
    includes: [],
    first: false,
  },
  evidence: {
    group: 'Installation',
    may: 'Download the evidence of runs',
    includes: [],
    first: false,
  },
  keys: {
    group: 'Installation',
    may: 'Manage API keys that may do no more than this one',
    includes: [],
    first: false,
  },
  users: {
    group: 'Installation',
    may: 'Manage users, administrators among them',
    includes: [],
    first: false,
  },
} as const satisfies Record<string, ScopeWords>;

// Generated from engine/outcome.go by go test ./http -update; do not edit.
import type { Schemas } from '../api/client';
import type { Named } from './states';

export const outcomes: Record<Schemas['Outcome'], Named> = {
  completed: { label: "Completed", tone: "green" },
  connected_no_result: { label: "Connected, no result", tone: "teal" },
  abandoned: { label: "Abandoned", tone: "orange" },
  machine: { label: "Machine", tone: "purple" },
  fax: { label: "Fax", tone: "purple" },
  no_answer: { label: "No answer", tone: "amber" },
  busy: { label: "Busy", tone: "amber" },
  rejected: { label: "Rejected", tone: "red" },
  invalid_number: { label: "Invalid number", tone: "red" },
  blocked: { label: "Blocked", tone: "red" },
  congestion: { label: "Congestion", tone: "amber" },
  throttled: { label: "Throttled", tone: "amber" },
  trunk_error: { label: "Trunk error", tone: "red" },
  media_error: { label: "Media error", tone: "red" },
  caller_hung_up: { label: "Callee hung up", tone: "amber" },
  cancelled: { label: "Cancelled", tone: "grey" },
  excluded: { label: "Excluded", tone: "grey" },
  lost: { label: "Lost", tone: "red" },
  system_error: { label: "System error", tone: "red" },
  expired: { label: "Expired", tone: "grey" },
};

/** Outcomes that may stand in Retry On System; the others are never redialled by a list. */
export const listable: Schemas['Outcome'][] = ['connected_no_result', 'machine', 'fax', 'no_answer', 'busy', 'rejected', 'invalid_number', 'congestion', 'throttled', 'trunk_error', 'media_error', 'caller_hung_up', 'lost', 'system_error'];

import type { SetUp, StepName } from '../api/set-up';
import type { Bot, NumberStatus, Trunk } from '../api/telephony';
import type { Tone } from './states';
import { address, botHealth, numberState, trunkHealth } from './telephony';
import { sentence } from './sentence';

/** What each step is called, and what it is for. */
export const steps: Record<StepName, { title: string; purpose: string }> = {
  carrier: {
    title: 'Carrier',
    purpose: 'The trunk that calls go over. Your carrier gives you its host, and says how it recognises you.',
  },
  caller_id: { title: 'Caller ID', purpose: 'The number that people see. Your carrier says which ones you may show.' },
  bot: { title: 'Bot', purpose: 'Who talks when somebody answers: a server that takes the audio of the call.' },
  call: { title: 'Ring my phone', purpose: 'One real call to your own phone, before any campaign exists.' },
};

/** State is how a step stands, in a word and a sentence, and what to do about it. */
export interface State {
  tone: Tone;
  label: string;
  sentence: string;
  remedy?: string;
}

const asking: State = { tone: 'blue', label: 'Trying', sentence: 'Waiting for its first answer.' };

/** carrierState says whether the carrier answers. */
export function carrierState(t: Trunk): State {
  const s = t.status;
  if (s === undefined || (s.health === 'unproven' && s.checked_at === null && t.options_s > 0))
    return { ...asking, sentence: `Waiting for ${address(t)} to answer.` };
  const { tone, label, more } = trunkHealth[s.health];
  const reason = s.reason ? ` ${sentence(s.reason)}` : '';
  switch (s.health) {
    case 'up':
      return {
        tone,
        label: s.registered_until === null ? 'Answers' : 'Registered',
        sentence: `${address(t)} answers.${reason}`,
      };
    case 'off':
      return { tone, label, sentence: `${t.id} is switched off.`, remedy: 'Turn on Active in All settings.' };
    case 'held':
    case 'broken':
    case 'trying':
      return { tone, label, sentence: `${more}${reason}` };
    case 'unproven':
      return {
        tone,
        label: 'No answer',
        sentence: `${address(t)} has not answered yet.${reason}`,
        remedy:
          'Check host and port, and that your carrier accepts our address. Some carriers answer calls alone: then ' +
          'go on, and let the call show.',
      };
    case 'down':
      return {
        tone,
        label: 'No answer',
        sentence: `${address(t)} cannot be used.${reason}`,
        remedy:
          t.kind === 'ip'
            ? 'Check host and port, and that your carrier accepts our address. Save and try asks again.'
            : 'Check host and port, username and password. Save and try asks again.',
      };
  }
}

/** numberStateOf says whether calls can come from a number. */
export function numberStateOf(n: NumberStatus): State {
  const { tone, label, more } = numberState[n.state];
  if (n.state === 'active') return { tone, label, sentence: `People who are called see ${n.number}.` };
  return { tone, label, sentence: `${n.number}: ${more.charAt(0).toLowerCase()}${more.slice(1)}` };
}

/** botState says whether the bot takes calls. */
export function botState(b: Bot): State {
  const health = b.status?.health ?? 'unknown';
  const { tone, label, more } = botHealth[health];
  const reason = b.status?.endpoints.find((e) => e.reason)?.reason;
  switch (health) {
    case 'up':
      return { tone, label: 'Answers', sentence: `${b.name} answers.` };
    case 'unknown':
      return b.endpoints.some((e) => e.startsWith('sip:'))
        ? {
            tone: 'grey',
            label: 'Not tried',
            sentence: `${b.name} is called by SIP: the call shows whether it answers.`,
          }
        : { ...asking, sentence: `Waiting for ${b.name} to answer.` };
    case 'off':
      return { tone, label, sentence: `${b.name} is switched off.`, remedy: 'Turn on Active in All settings.' };
    case 'down':
      return {
        tone,
        label: 'No answer',
        sentence: `${b.name} takes no calls.${reason === undefined ? '' : ` ${sentence(reason)}`}`,
        remedy: 'Check that it runs and that the address is right. It is asked again by itself.',
      };
    default:
      return { tone, label, sentence: `${more}${reason === undefined ? '' : ` ${sentence(reason)}`}` };
  }
}

/** next is the first step that is still to do; undefined when all are done. */
export function next(s: SetUp): StepName | undefined {
  return s.steps.find((p) => !p.done)?.step;
}

/** missing names what a call still needs, undefined when it can be tried. */
export function missing(s: SetUp): string | undefined {
  const lacks = s.steps.filter((p) => p.step !== 'call' && p.with === undefined).map((p) => steps[p.step].title);
  if (lacks.length === 0) return undefined;
  const last = lacks.pop() ?? '';
  return `${lacks.length === 0 ? last : `${lacks.join(', ')} and ${last}`} first.`;
}

/** freeName gives a name that none has: carrier-1, carrier-2 and so on. */
export function freeName(stem: string, taken: readonly string[]): string {
  for (let i = 1; ; i++) if (!taken.includes(`${stem}-${i}`)) return `${stem}-${i}`;
}

/** hostAndPort splits what people paste as a host: sip.example.org:5070. An IPv6 address stays whole. */
export function hostAndPort(typed: string): { host: string; port?: number } {
  const text = typed.trim().replace(/^sips?:/, '');
  const at = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text);
  return at === null ? { host: text } : { host: at[1] ?? '', port: Number(at[2]) };
}

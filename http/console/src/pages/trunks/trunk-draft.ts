import type { Trunk, TrunkRequest } from '../../api/telephony';

/** Draft is a trunk as the form has it: texts for what may be left out, so that a field can be empty. */
export interface Draft {
  id: string;
  host: string;
  port: number | string;
  transport: Trunk['transport'];
  kind: Trunk['kind'];
  username: string;
  password: string; // '' keeps the one that is stored
  register: number | string;
  fromUser: string;
  fromDomain: string;
  callerIdHeader: string;
  privacy: string;
  numberFormat: string;
  numberCountry: string;
  proxy: string;
  listener: string;
  externalHost: string;
  tlsName: string;
  tlsRoots: string;
  tlsInsecure: boolean;
  tlsCertificate: string;
  tlsKey: string; // '' keeps the one that is stored
  userAgent: string;
  headers: string; // one a line, Name: value
  redirects: number | string;
  reliable: string;
  session: number | string;
  inbound: string;
  codecs: string[];
  srtp: string;
  dtmf: string;
  dtx: boolean;
  symmetric: string;
  networks: string[];
  family: string; // '' is that of the trunk's address
  cps: number | string;
  channels: number | string;
  priority: number | string;
  weight: number | string;
  options: number | string;
  active: boolean;
}

/** draftOf fills the form: with a trunk as it is, or with what a new one begins with. */
export function draftOf(t: Trunk | undefined): Draft {
  return {
    id: t?.id ?? '',
    host: t?.host ?? '',
    port: t?.port ?? 0,
    transport: t?.transport ?? 'udp',
    kind: t?.kind ?? 'ip',
    username: t?.username ?? '',
    password: '',
    register: t?.register_s ?? 0,
    fromUser: t?.from_user ?? '',
    fromDomain: t?.from_domain ?? '',
    callerIdHeader: t?.caller_id_header ?? 'none',
    privacy: t?.privacy ?? '',
    numberFormat: t?.number_format ?? 'e164',
    numberCountry: t?.number_country ?? '',
    proxy: t?.outbound_proxy ?? '',
    listener: t?.listener ?? '',
    externalHost: t?.external_host ?? '',
    tlsName: t?.tls_server_name ?? '',
    tlsRoots: t?.tls_roots ?? '',
    tlsInsecure: t?.tls_insecure ?? false,
    tlsCertificate: t?.tls_certificate ?? '',
    tlsKey: '',
    userAgent: t?.user_agent ?? '',
    headers: (t?.extra_headers ?? []).map((h) => `${h.name}: ${h.value}`).join('\n'),
    redirects: t?.redirects ?? 0,
    reliable: t?.reliable_provisionals ?? 'supported',
    session: t?.session_s ?? 0,
    inbound: t?.inbound ?? 'forbidden',
    codecs: t?.media?.codecs ?? ['PCMU', 'PCMA'],
    srtp: t?.media?.srtp ?? 'off',
    dtmf: t?.media?.dtmf ?? 'rfc4733',
    dtx: t?.media?.dtx ?? false,
    symmetric: t?.media?.symmetric ?? 'auto',
    networks: t?.media?.networks ?? [],
    family: t?.media?.family ?? '',
    cps: t?.cps_cap ?? 10,
    channels: t?.channel_cap ?? 100,
    priority: t?.priority ?? 0,
    weight: t?.weight ?? 1,
    options: t?.options_s ?? 30,
    active: t?.active ?? true,
  };
}

const given = (s: string) => (s.trim() === '' ? null : s.trim());

/** requestOf is what is sent: the whole trunk, since PUT replaces it; only the secrets may be left out. */
export function requestOf(d: Draft): TrunkRequest {
  const digest = d.kind !== 'ip';
  const tls = d.transport === 'tls';
  return {
    host: d.host.trim(),
    port: Number(d.port),
    transport: d.transport,
    kind: d.kind,
    username: digest ? given(d.username) : null,
    ...(!digest ? { password: null } : d.password === '' ? {} : { password: d.password }),
    register_s: d.kind === 'registered' ? Number(d.register) : 0,
    from_user: given(d.fromUser),
    from_domain: given(d.fromDomain),
    caller_id_header: d.callerIdHeader as NonNullable<TrunkRequest['caller_id_header']>,
    privacy: given(d.privacy),
    number_format: d.numberFormat as NonNullable<TrunkRequest['number_format']>,
    number_country: d.numberFormat === 'national' ? given(d.numberCountry.toUpperCase()) : null,
    outbound_proxy: given(d.proxy),
    listener: given(d.listener),
    external_host: given(d.externalHost),
    tls_server_name: tls ? given(d.tlsName) : null,
    tls_roots: tls ? given(d.tlsRoots) : null,
    tls_insecure: tls && d.tlsInsecure,
    tls_certificate: tls ? given(d.tlsCertificate) : null,
    ...(!tls ? { tls_key: null } : d.tlsKey === '' ? {} : { tls_key: d.tlsKey }),
    user_agent: given(d.userAgent),
    extra_headers: headersOf(d.headers),
    redirects: Number(d.redirects),
    reliable_provisionals: d.reliable as NonNullable<TrunkRequest['reliable_provisionals']>,
    session_s: Number(d.session),
    inbound: d.inbound as NonNullable<TrunkRequest['inbound']>,
    media: {
      codecs: d.codecs as ('PCMU' | 'PCMA' | 'G722')[],
      srtp: d.srtp as 'off' | 'optional' | 'required',
      dtmf: d.dtmf as 'rfc4733' | 'info',
      dtx: d.dtx,
      symmetric: d.symmetric as 'off' | 'auto' | 'on',
      networks: d.networks,
      family: d.family === '' ? null : (d.family as 'ipv4' | 'ipv6'),
    },
    cps_cap: Number(d.cps),
    channel_cap: Number(d.channels),
    priority: Number(d.priority),
    weight: Number(d.weight),
    options_s: Number(d.options),
    active: d.active,
  };
}

/**
 * headersOf reads one header a line. A line without a colon is a header without a value: the API says what it lacks.
 */
export function headersOf(text: string): { name: string; value: string }[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const at = line.indexOf(':');
      return at < 0 ? { name: line, value: '' } : { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
    });
}

/** Fields of the API that the form shows; the mistakes of others stand above it. */
export const shown = [
  'id',
  'trunk_id',
  'host',
  'port',
  'transport',
  'kind',
  'username',
  'password',
  'register_s',
  'from_user',
  'from_domain',
  'caller_id_header',
  'privacy',
  'number_format',
  'number_country',
  'outbound_proxy',
  'listener',
  'external_host',
  'tls_server_name',
  'tls_roots',
  'tls_insecure',
  'tls_certificate',
  'tls_key',
  'user_agent',
  'extra_headers',
  'redirects',
  'reliable_provisionals',
  'session_s',
  'inbound',
  'media',
  'cps_cap',
  'channel_cap',
  'priority',
  'weight',
  'options_s',
  'active',
];

/** Of those, the ones that stand under "More settings": a mistake there opens it. */
export const seldom = shown
  .slice(shown.indexOf('from_user'), shown.indexOf('media') + 1)
  .filter((f) => !['number_format', 'number_country'].includes(f));

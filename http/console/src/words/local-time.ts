// Moments in a form: <input type="datetime-local"> speaks the viewer's clock, the API speaks RFC 3339.

/** toField writes a moment for a field; '' for none. */
export function toField(at: string | null | undefined): string {
  if (!at) return '';
  const d = new Date(at);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** fromField reads it; null for an empty field. */
export function fromField(value: string): string | null {
  const d = new Date(value);
  return value === '' || Number.isNaN(d.getTime()) ? null : d.toISOString();
}

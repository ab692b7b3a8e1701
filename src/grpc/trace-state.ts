/** Members, and characters of the whole, that are passed on (W3C 3.3.1.1, 3.3.1.5). */
const mostMembers = 32;
const mostLength = 512;
/** Members longer than this go first where the whole is too long (W3C 3.3.1.5). */
const largeMember = 128;

const key = '(?:[a-z0-9][a-z0-9_\\-*/]{0,255}|[a-z0-9][a-z0-9_\\-*/]{0,240}@[a-z][a-z0-9_\\-*/]{0,13})';
/** Printable ASCII but `,` and `=`, without blanks at its end. */
const value = '[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]{0,255}[\\x21-\\x2b\\x2d-\\x3c\\x3e-\\x7e]';
const memberLine = new RegExp(`^${key}=${value}$`);

/**
 * The members of a `tracestate` (its lines joined by commas) that are passed on, in their order: those that are well formed,
 * the first of each key, no more than W3C has everybody pass on. May be empty.
 */
export function readTraceState(text: string): string {
  const seen = new Set<string>();
  let members: string[] = [];
  let length = -1;
  for (const part of text.split(',')) {
    const member = part.replace(/^[ \t]+|[ \t]+$/g, '');
    if (!memberLine.test(member)) continue;
    const name = member.slice(0, member.indexOf('='));
    if (seen.has(name)) continue;
    seen.add(name);
    members.push(member);
    length += member.length + 1;
    if (members.length === mostMembers) break;
  }
  if (length > mostLength) {
    members = members.filter((member) => member.length <= largeMember);
    length = members.join(',').length;
  }
  while (length > mostLength) length -= (members.pop() ?? '').length + 1;
  return members.join(',');
}

// The points of charts.

/** Points that are kept of each version. */
export const mostPoints = 120;

/** Points by version; the key of all models is empty. */
const history = new Map();

/** Adds a point. */
export function remember(key, figures) {
  const points = history.get(key) ?? [];
  points.push(figures);
  if (points.length > mostPoints) points.shift();
  history.set(key, points);
}

/** The points of a version, the oldest first. */
export const pointsOf = (key) => history.get(key) ?? [];

/** Forgets versions that the server no longer has. */
export function forgetOthers(keys) {
  for (const key of history.keys()) if (key !== '' && !keys.has(key)) history.delete(key);
}

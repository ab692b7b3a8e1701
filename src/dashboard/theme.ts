/** Light, dark, or as the system has it. Runs before the page is drawn; the choice is kept in this browser. */
const key = 'hedgerow-theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');

type Theme = 'light' | 'dark';

function chosen(): Theme | null {
  try {
    const kept = localStorage.getItem(key);
    return kept === 'light' || kept === 'dark' ? kept : null;
  } catch {
    // A browser that keeps nothing.
    return null;
  }
}

let theme = chosen();
apply();

/** What is shown now. */
export function currentTheme(): Theme {
  return theme ?? (dark.matches ? 'dark' : 'light');
}

/** Shows the other one from now on. */
export function toggleTheme(): void {
  theme = currentTheme() === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(key, theme);
  } catch {
    // It holds until the page is closed, then.
  }
  apply();
}

/** Calls `listener` when the system changes and nothing was chosen here. */
export function onSystemTheme(listener: () => void): void {
  dark.addEventListener('change', () => {
    if (theme !== null) return;
    apply();
    listener();
  });
}

function apply(): void {
  document.documentElement.dataset['theme'] = currentTheme();
}

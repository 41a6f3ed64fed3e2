const STORED = "pairstream-theme";

type Theme = "light" | "dark";

/** A colour of the theme that is shown, by its name in the style sheet, as `#rrggbb`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Shows the theme that was chosen before, else that of the system; `button` changes it. */
export function startTheme(button: HTMLButtonElement, onChange: () => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = stored();
  const show = () => {
    const theme = chosen ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    button.ariaLabel = `Change to the ${theme === "dark" ? "light" : "dark"} theme`;
    button.title = button.ariaLabel;
    onChange();
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(STORED, chosen);
    } catch {
      // Where nothing may be stored, it lasts as long as the page.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}

function stored(): Theme | undefined {
  try {
    const theme = localStorage.getItem(STORED);
    return theme === "light" || theme === "dark" ? theme : undefined;
  } catch {
    return undefined;
  }
}

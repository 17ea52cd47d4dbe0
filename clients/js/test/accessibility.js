// What a page owes to people with a keyboard, a screen reader or weak eyes: axe-core's rules, and what it can't see.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

let source;

/** The rules of axe-core. */
function axe() {
  source ??= readFileSync(execFileSync(fileURLToPath(new URL("../../../Scripts/axe.sh", import.meta.url)), { encoding: "utf8" }).trim(), "utf8");
  return source;
}

/** Asserts that a page keeps the rules in light and in dark colours. */
export async function keepsRules(tab, place) {
  if (!await tab.run(() => "axe" in globalThis)) await tab.send("Runtime.evaluate", { expression: axe() });
  for (const scheme of ["light", "dark"]) {
    await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }] });
    const found = await tab.run(async () => {
      const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      const { violations, passes } = await axe.run(document, { runOnly, resultTypes: ["violations"] });
      const broken = violations.flatMap(({ id, nodes }) => nodes.map(({ target, any }) => `${id}: ${target} ${any[0]?.message ?? ""}`));
      return { broken, kept: passes.map(({ id }) => id) };
    });
    assert.deepEqual(found.broken, [], `${place}, ${scheme}`);
    // The rules were asked: in a dialog, where the rest of the page does not count, these at least.
    for (const rule of ["color-contrast", "aria-hidden-body"]) assert.ok(found.kept.includes(rule), `${place}: ${rule}`);
  }
}

/** Asserts that Tab reaches every control of a page, shows where it is, and gets out at the end. */
export async function hasKeyboard(tab, place) {
  // A page that is drawn again meanwhile has other controls: it is walked again.
  for (let walk = 1; ; walk++) {
    const { invisible, unreached, isDrawnAgain } = await walked(tab);
    if (isDrawnAgain && walk < 20) continue;
    assert.deepEqual(invisible, [], `${place}: the focus is not seen`);
    assert.deepEqual(unreached, [], `${place}: Tab does not get there`);
    return;
  }
}

/** Presses Tab until each control could have been reached. */
async function walked(tab) {
  const count = await tab.run(() => {
    globalThis.controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
      .filter((control) => !control.disabled && control.tabIndex >= 0 && control.checkVisibility({ visibilityProperty: true }));
    globalThis.unreached = new Set(controls);
    document.activeElement.blur();
    scrollTo(0, 0);
    return controls.length;
  });
  const invisible = [];
  for (let number = 0; number <= count; number++) {
    for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
    const shown = await tab.run(() => {
      const control = document.activeElement;
      unreached.delete(control);
      const { outlineStyle, outlineWidth } = getComputedStyle(control);
      return control === document.body || outlineStyle !== "none" && parseFloat(outlineWidth) > 0 ? null : control.outerHTML.slice(0, 100);
    });
    if (shown) invisible.push(shown);
  }
  return tab.run((invisible) => ({
    invisible,
    unreached: [...unreached].map((control) => control.outerHTML.slice(0, 100)),
    isDrawnAgain: controls.some((control) => !control.isConnected),
  }), invisible);
}

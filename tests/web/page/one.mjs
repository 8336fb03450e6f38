// SPDX-License-Identifier: GPL-2.0-or-later
// The one browser of all groups.
import { launch } from '../browser.mjs';

export const browser = await launch();

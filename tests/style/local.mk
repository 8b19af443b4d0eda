# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/style/layout.sh

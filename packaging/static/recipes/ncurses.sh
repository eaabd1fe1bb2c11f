# For libedit: it reads the description of the terminal where distributions have it, and knows some without it.
"$SOURCE/configure" --host="$HOST" --prefix=/usr --without-ada --without-cxx --without-cxx-binding --without-manpages --without-tests \
    --without-progs --without-debug --enable-widec --with-termlib --disable-db-install --disable-stripping \
    --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo --with-default-terminfo-dir=/usr/share/terminfo \
    --with-fallbacks=xterm,xterm-256color,screen,screen-256color,tmux,tmux-256color,linux,vt100 --with-tic-path=/usr/bin/tic --with-infocmp-path=/usr/bin/infocmp \
    --with-build-cc=gcc
make -j "$JOBS" -C include
make -j "$JOBS" -C ncurses
find . -name 'libtinfo*.a' -exec cp {} "$ROOT/lib/libtinfo.a" \;
ln -sf libtinfo.a "$ROOT/lib/libncurses.a" # the name that libedit looks for
cp include/term.h include/curses.h include/ncurses_dll.h include/unctrl.h "$ROOT/include/"
cp "$SOURCE/include/ncurses_dll.h" "$ROOT/include/" 2>/dev/null || :
cp include/termcap.h "$ROOT/include/" 2>/dev/null || cp "$SOURCE/include/termcap.h" "$ROOT/include/"
